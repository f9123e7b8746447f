"""What is looked at before anything is sent or written: everything that is wrong is told at once, one line each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import yaml
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id

from toolscale.dataset.checking.integrity import check_files
from toolscale.dataset.making.folder import CARD
from toolscale.dataset.manifest import MANIFEST, read_manifest, world_folder
from toolscale.environment.spec_files import read_world
from toolscale.errors import DatasetError, PublishError
from toolscale.publish.connection import endpoint_of
from toolscale.records import Manifest
from toolscale.text_files import printable

PRIVATE_FOLDERS = (".git", ".cache", ".huggingface")
_HEADER = re.compile(r"\A---\r?\n(.*?)^---\s*$", re.DOTALL | re.MULTILINE)


def check_publishable(folder: Path, repo: str, endpoint: str | None) -> Manifest:
    """Return the manifest of a dataset that can be published as it is. PublishError holds every reason why not."""
    problems = [*check_address(repo, endpoint)]
    manifest = None
    try:
        manifest = read_manifest(folder)
    except DatasetError as error:
        problems.append(str(error))
    if manifest is not None:
        problems += _check_licence(folder, manifest)
        problems += [f"{folder}: {finding}" for finding in check_files(folder, manifest)]
        problems += [f"{folder}: {problem}" for problem in check_paths(manifest)]
    if problems or manifest is None:
        raise PublishError("\n".join(problems))
    return manifest


def check_address(repo: str, endpoint: str | None) -> Iterator[str]:
    """Yield what is wrong with the name of a repo and with the endpoint."""
    try:
        validate_repo_id(repo)
    except HFValidationError as error:
        yield f"the repo {repo!r} is no valid name: {' '.join(str(error).split())}; use e.g. me/finance-tasks"
    else:
        if "/" not in repo:
            yield f"the repo {repo!r} does not say whose it is; use e.g. me/{repo}"
    if not _is_address(endpoint_of(endpoint)):
        yield f"the endpoint {endpoint_of(endpoint)[:300]!r} is no URL; use e.g. https://huggingface.co"


def _is_address(endpoint: str) -> bool:
    if not endpoint.isprintable() or " " in endpoint:
        return False
    try:
        parts, address = urlsplit(endpoint), httpx2.URL(endpoint)
        port = parts.port
    except (ValueError, httpx2.InvalidURL):
        return False
    return (
        parts.scheme in ("http", "https")
        and bool(parts.hostname and address.host)
        and port != 0
        and not (parts.query or parts.fragment)
    )


def check_paths(manifest: Manifest) -> Iterator[str]:
    """Yield the names of files that a repo or a folder cannot hold. Those that lead out of the folder are refused by
    the manifest itself."""
    seen: set[str] = set()
    for entry in manifest.files:
        parts = entry.path.split("/")
        folders = {"/".join(parts[:depth]) for depth in range(1, len(parts))}
        if entry.path == MANIFEST or any(part in PRIVATE_FOLDERS for part in parts):
            yield f"{MANIFEST}: {entry.path!r} is a name that a dataset cannot use; it is refused"
        elif entry.path in seen or seen & folders or any(other.startswith(f"{entry.path}/") for other in seen):
            yield f"{MANIFEST}: {entry.path!r} is listed twice, or as file and as folder; it is refused"
        seen.add(entry.path)


def _check_licence(folder: Path, manifest: Manifest) -> Iterator[str]:
    card = folder / CARD
    for domain, part in manifest.domains.items():
        world = read_world(world_folder(folder, domain))
        if world is not None and world.license != part.license:
            yield (
                f"{folder / MANIFEST} says that {domain} has the licence {printable(part.license)}, and its "
                f"environment.yaml {printable(world.license)}; make the dataset again"
            )
    if not card.is_file():
        return  # the check of the files says so
    found = _HEADER.match(card.read_text(encoding="utf-8", errors="replace"))
    try:
        header = yaml.safe_load(found[1]) if found else None
    except yaml.YAMLError:
        header = None
    if not isinstance(header, dict):
        yield f"{card} has no YAML header that can be read; make the dataset again"
        return
    named = header.get("license")
    told = named if isinstance(named, list) else [named]
    licences = [licence for licence in told if isinstance(licence, str) and licence.strip()]
    if not licences or len(licences) < len(told):
        yield (
            f"{card} names no licence; "
            "say `license: apache-2.0` (or another) in environment.yaml and make the dataset again"
        )
    elif sorted(set(licences)) != list(manifest.licenses):
        yield (
            f"{card} says the licence {printable(', '.join(licences))}, and {MANIFEST} "
            f"{printable(', '.join(manifest.licenses))}; make the dataset again"
        )
