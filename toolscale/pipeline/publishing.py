"""Publishing as a scheduler calls it: what a person sees before approving, and the push."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolscale.dataset.manifest import MANIFEST, read_manifest
from toolscale.dataset.places import local_copy, open_place
from toolscale.dataset.storage import file_hash
from toolscale.dataset.versions import tag_of
from toolscale.errors import UsageError
from toolscale.publish import publish_dataset
from toolscale.records import Manifest


def inspect_dataset(dataset: str | None, repo: str | None, publish: str) -> dict[str, Any]:
    """Return what is published where, and `body`: its figures as Markdown. DatasetError if there is no dataset."""
    if not dataset:
        raise UsageError("dataset is empty, and no run of synthesize_dataset triggered this one; give the path or URL of a dataset")
    if not repo and publish == "auto":
        raise UsageError("publish is auto, and there is no repository; set TOOLSCALE_REPO to owner/name, or fill in repo")
    manifest = read_manifest(open_place(dataset))
    tag = tag_of(manifest)
    return {"dataset": dataset, "repo": repo, "publish": publish, "tag": tag, "body": _body(manifest, dataset, repo, tag)}


def push_dataset(dataset: str, repo: str | None) -> dict[str, Any]:
    """Publish a dataset and return what listeners are told of it. The token comes from HF_TOKEN."""
    if not repo:
        raise UsageError("there is no repository to push to; set TOOLSCALE_REPO to owner/name, or fill in repo when you approve")
    place = open_place(dataset)
    with local_copy(place) as folder:
        manifest = read_manifest(folder)
        published = publish_dataset(folder, repo, push=True)
        digest = file_hash(folder / MANIFEST)
    return {
        "repo": repo, "tag": published.tag, "commit": published.commit, "url": published.url, "dataset": dataset, "sha256": digest,
        "domains": list(manifest.domains), "already_published": published.already_published,
    }  # fmt: skip


def _body(manifest: Manifest, dataset: str, repo: str | None, tag: str) -> str:
    """Return what a person should see before publishing, as Markdown: what, where to, and the figures of every domain."""
    rows = [
        f"| {domain} | {part.counts['accepted']:,} of {part.tasks:,} | {part.counts['candidates']:,} | {_failures(part.gates)} | {part.seed} |"
        for domain, part in manifest.domains.items()
    ]
    return "\n".join([
        f"**{tag}** to **{repo or 'no repository: fill one in below'}**, from `{dataset}`.",
        "",
        "| domain | tasks | candidates judged | failed most | seed |",
        "|---|--:|--:|---|--:|",
        *rows,
        "",
        "Approving pushes one commit and a tag. Rejecting, or no answer within 20 hours, pushes nothing.",
    ])  # fmt: skip


def _failures(gates: Mapping[str, Mapping[str, int]]) -> str:
    failed = sorted(((statuses.get("fail", 0), gate) for gate, statuses in gates.items()), reverse=True)
    return ", ".join(f"{gate} {count:,}" for count, gate in failed[:3] if count) or "none"
