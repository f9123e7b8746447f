"""Publishing as a scheduler calls it: what a person sees before approving, and the push."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from toolscale.dataset.checking.quality import count_quality
from toolscale.dataset.comparing.comparison import compare_datasets, outline
from toolscale.dataset.comparing.versions import tag_of
from toolscale.dataset.describing.reading import Reading, read_dataset
from toolscale.dataset.manifest import MANIFEST, read_manifest
from toolscale.dataset.places import local_copy, open_place
from toolscale.dataset.runs import Run, run_of, runs_under
from toolscale.dataset.storage import file_hash
from toolscale.errors import DatasetError, ToolScaleError, UsageError
from toolscale.pipeline.holds import PUBLISHING, hold, release
from toolscale.pipeline.published import note_published, was_published
from toolscale.publish import Publication, publish_dataset
from toolscale.text_files import printable

log = logging.getLogger(__name__)


def newer_night(published: Iterable[Mapping[str, Any]], repo: str | None, night: str | None) -> str | None:
    """Return the latest night that `repo` holds, if it is later than `night`: nights do not run backwards.

    `published`: what was told of each push before, with `repo` and `night`. A dataset that stands for no night is as
    new as the day it was made.
    """
    nights = [str(push["night"]) for push in published if push.get("repo") == repo and push.get("night")]
    return max(nights, default=None) if night and nights and max(nights) > night else None


def inspect_dataset(
    dataset: str | None,
    repo: str | None,
    publish: str,
    sha256: str | None = None,
    night: str | None = None,
    *,
    pages: str = "",
) -> dict[str, Any]:
    """Return what is published where, the hash of its manifest, its `night`, and `body`: its figures as Markdown.

    `pages`: the URL below which the pages of ToolScale are served; the body has links to them, unless it is empty.
    DatasetError if there is no dataset, or another than the one whose manifest has the hash `sha256`.
    """
    if not dataset:
        raise UsageError(
            "dataset is empty, and no run of synthesize_dataset triggered this one; give the path or URL of a dataset"
        )
    if not repo and publish == "auto":
        raise UsageError(
            "publish is auto, and there is no repository; set TOOLSCALE_REPO to owner/name, or fill in repo"
        )
    hold(dataset, "publishing", PUBLISHING)
    with local_copy(open_place(dataset)) as folder:
        digest = _manifest_hash(folder, sha256)
        reading = read_dataset(folder)
        tag = tag_of(reading.manifest)
        body = _body(reading, dataset, repo, tag, pages)
    return {
        "dataset": dataset,
        "repo": repo,
        "publish": publish,
        "tag": tag,
        "sha256": digest,
        "night": night,
        "body": body,
    }


def push_dataset(
    dataset: str,
    repo: str | None,
    sha256: str,
    night: str | None = None,
    *,
    token: str | None = None,
    endpoint: str | None = None,
) -> dict[str, Any]:
    """Publish the dataset that was inspected and return what listeners are told of it. Without a token or an endpoint:
    HF_TOKEN, HF_ENDPOINT."""
    if not repo:
        raise UsageError(
            "there is no repository to push to; set TOOLSCALE_REPO to owner/name, or fill in repo when you approve"
        )
    hold(dataset, "publishing", PUBLISHING)
    with local_copy(open_place(dataset)) as folder:
        _manifest_hash(folder, sha256)
        manifest = read_manifest(folder)
        published = publish_dataset(folder, repo, push=True, token=token, endpoint=endpoint)
    if published.note:
        log.warning("%s", published.note)
    facts = note_push(published, dataset, sha256, list(manifest.domains), night)
    release(dataset, "publishing")
    return facts


def note_push(
    published: Publication, dataset: str, sha256: str, domains: Sequence[str], night: str | None = None
) -> dict[str, Any]:
    """Return what is told of a push, and note it where the dataset is kept."""
    facts = {
        "repo": published.repo,
        "tag": published.tag,
        "commit": published.commit,
        "url": published.url,
        "dataset": dataset,
        "sha256": sha256,
        "domains": list(domains),
        "already_published": published.already_published,
        "restored": published.restored,
        "night": night,
    }
    note_published(open_place(dataset), facts)
    return facts


def _manifest_hash(folder: Path, expected: str | None) -> str:
    read_manifest(folder)  # says what is wrong if there is none
    found = file_hash(folder / MANIFEST)
    if expected is not None and found != expected:
        raise DatasetError(
            f"{folder}: the dataset is not the one that was announced or approved; trigger publish_dataset anew"
        )
    return found


def _body(reading: Reading, dataset: str, repo: str | None, tag: str, pages: str) -> str:
    """Return what a person should see before publishing, as Markdown: what, where to, and the figures of every
    domain."""
    lines = [
        f"**{tag}** to **{repo or 'no repository: fill one in below'}**, from `{dataset}`.",
        "",
        "| domain | tasks | candidates judged | accepted | kill rate | repeated tasks | failed most | seed |",
        "|---|--:|--:|--:|--:|--:|---|--:|",
    ]
    for domain, part in reading.manifest.domains.items():
        found = count_quality(reading.domains[domain], part.tasks)
        lines.append(
            f"| {domain} | {part.counts['accepted']:,} of {part.tasks:,} | {part.counts['candidates']:,} | "
            f"{found['accepted_share']:.1%} | {found['kill_rate']:.2%} | {found['duplicates']:g} | "
            f"{_failures(part.gates)} | {part.seed} |"
        )
    lines += [*_since(reading, dataset, pages), *_links(dataset, pages)]
    return "\n".join(
        [*lines, "", "Approving pushes one commit and a tag. Rejecting, or no answer within 20 hours, pushes nothing."]
    )


def _links(dataset: str, pages: str) -> list[str]:
    if not pages or (run := run_of(open_place(dataset))) is None:
        return []
    rejects = urlencode({"run_id": run.order().run_id})
    return ["", f"Look at its [card]({pages}/card?run={run.name}) and its [rejected tasks]({pages}/rejects?{rejects})."]


def _since(reading: Reading, dataset: str, pages: str) -> list[str]:
    """Return what changed since the dataset of the same domains that was published or, if none was, made before in the
    same place.

    Nothing if there is none. That it cannot be compared keeps nobody from publishing: then this says why.
    """
    try:
        if (run := run_of(open_place(dataset))) is None or (
            before := _run_before(run, set(reading.manifest.domains))
        ) is None:
            return []
        with local_copy(before.dataset()) as folder:
            comparison = compare_datasets(read_dataset(folder), reading)
        act = "published" if was_published(before) else "made"
        lines = [
            "",
            f"Since `{comparison.before}`, {act} before by the run `{before.name}`:",
            "",
            *(f"* {line}" for line in outline(comparison)),
        ]
        return (
            [*lines, "", f"[Everything that changed]({pages}/diff?before={before.name}&after={run.name})"]
            if pages
            else lines
        )
    except ToolScaleError as error:
        return ["", f"It could not be compared with a dataset before it: {printable(str(error))}"]


def _run_before(run: Run, domains: set[str]) -> Run | None:
    started = datetime.fromisoformat(run.order().started)
    earlier = [
        (was_published(other), datetime.fromisoformat(order.started), other.name, other)
        for other, order in runs_under(run.root)
        if set(order.domains) == domains
        and datetime.fromisoformat(order.started) < started
        and (other.dataset() / MANIFEST).exists()
    ]
    return max(earlier)[-1] if earlier else None


def _failures(gates: Mapping[str, Mapping[str, int]]) -> str:
    failed = sorted(((statuses.get("fail", 0), gate) for gate, statuses in gates.items()), reverse=True)
    return ", ".join(f"{gate} {count:,}" for count, gate in failed[:3] if count) or "none"
