"""The verbs that reach the Hugging Face Hub: publish, pull."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolscale.cli.output import as_json, bytes_text, echo_json, progress_bar, say, with_key

if TYPE_CHECKING:
    from toolscale.publish import Publication

endpoint_option = click.option(
    "--endpoint", metavar="URL", help="The Hub to talk to.  [default: HF_ENDPOINT, else https://huggingface.co]"
)


@click.command()
@click.argument("dataset", type=click.Path(path_type=Path))
@click.argument("repo")
@click.option("--push", is_flag=True, help="Do it. Without this, nothing is written: what would be done is printed.")
@click.option(
    "--with",
    "formats",
    metavar="FORMAT,…",
    default="",
    help="Exports that are published with it, in exports/: harbor, verifiers, … The Hub shows those it knows.",
)
@endpoint_option
@click.option("--private", is_flag=True, help="If the repo is made, make it private.")
@as_json
def publish(
    dataset: Path, repo: str, push: bool, formats: str, endpoint: str | None, private: bool, json_: bool
) -> None:
    """Publish DATASET in the dataset repo REPO of the Hugging Face Hub: one commit and one tag.

    The token is read from HF_TOKEN, a key to sign with (PEM, or a file) from TOOLSCALE_SIGNING_KEY.
    """
    from toolscale.dataset.manifest import MANIFEST, read_manifest
    from toolscale.dataset.storage import file_hash
    from toolscale.pipeline.publishing import note_push
    from toolscale.publish import publish_dataset

    with progress_bar() as progress, _exported(dataset, formats) as folder:
        publication = publish_dataset(folder, repo, push=push, endpoint=endpoint, private=private, progress=progress)
    if push:
        note_push(publication, str(dataset), file_hash(dataset / MANIFEST), list(read_manifest(dataset).domains))
    if json_:
        return echo_json(asdict(publication))
    _print_publication(dataset, publication)


@contextmanager
def _exported(dataset: Path, formats: str) -> Iterator[Path]:
    """Yield the dataset, or a copy of it with exports in these formats."""
    if not formats:
        yield dataset
        return
    from toolscale.exports.published import with_exports
    from toolscale.temporary_folders import temporary_folder

    with temporary_folder("publish") as place:
        with_exports(dataset, [name.strip() for name in formats.split(",")], place / dataset.resolve().name)
        yield place / dataset.resolve().name


@click.command()
@click.argument("repo")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The folder to make.")
@click.option(
    "--revision", default="main", show_default=True, metavar="TAG", help="The version: a tag, a commit, or main."
)
@endpoint_option
@with_key
@as_json
def pull(repo: str, out: Path, revision: str, endpoint: str | None, key: str | None, json_: bool) -> None:
    """Download a version of the dataset repo REPO into a folder, and check every file of it. A private repo needs
    HF_TOKEN."""
    from toolscale.dataset.checking.signing import public_key
    from toolscale.publish import pull_dataset

    trusted = public_key(key) if key else None
    with progress_bar() as progress:
        pulled = pull_dataset(repo, out, revision=revision, endpoint=endpoint, key=trusted, progress=progress)
    if json_:
        return echo_json(asdict(pulled))
    version = f"{repo} at {revision} (commit {pulled.commit[:8]})"
    if pulled.already_there:
        return say(f"{out} holds {version} already; nothing was downloaded")
    say(
        f"{out}: {version}: {pulled.files} files, "
        f"{pulled.downloaded} of them downloaded ({bytes_text(pulled.downloaded_bytes)})"
    )
    say(f"judge it again: toolscale verify {out}")


def _print_publication(dataset: Path, publication: Publication) -> None:
    from toolscale.text_files import printable

    tag, url = publication.tag, publication.url
    if publication.already_published:
        say(f"{dataset}: already published as {tag}: {url}/tree/{tag}")
        if not publication.tagged:
            click.echo("its tag is missing; --push sets it")
        return None
    if publication.not_asked:
        say(f"the repo could not be asked, so this is what a first push uploads: {publication.not_asked}")
    if not publication.pushed:
        for file in publication.files:
            say(f"{file.state:<10}{bytes_text(file.bytes):>10}  {printable(file.path)}")
    sizes = sum(file.bytes for file in publication.uploaded)
    uploads = f"{len(publication.uploaded)} files ({bytes_text(sizes)})"
    others = f"{publication.count('unchanged')} unchanged, {publication.count('deleted')} deleted"
    if publication.note:
        click.echo(publication.note)
    if not publication.pushed:
        end = f"main is to go back to {tag}" if publication.restored else f"to be published as {tag}"
        say(f"{dataset}: {uploads} to upload, {others}; {end}: {url}")
        return say("nothing was written; --push (make: PUSH=1) does it")
    end = f"main is back at {tag}" if publication.restored else f"published as {tag}"
    say(f"{dataset}: {uploads} uploaded, {others}; {end}: {url}/tree/{tag}")
    if (compared := publication.compared) and not publication.restored:
        say(f"{compared.added} added, {compared.removed} removed, {compared.changed} changed since {compared.previous}")
