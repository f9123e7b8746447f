"""Signatures of manifests: who published a dataset, where hashes only show that its files fit together. Ed25519 (RFC
8032)."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from toolscale.dataset.checking.integrity import Finding
from toolscale.dataset.manifest import MANIFEST, render_manifest
from toolscale.dataset.storage import read_file
from toolscale.errors import StorageError, UsageError
from toolscale.records import Manifest, Signature
from toolscale.text_files import printable

if TYPE_CHECKING:  # most datasets are verified without a key, and where the library is not installed
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SIGNING_KEY = "TOOLSCALE_SIGNING_KEY"
"""Environment variable with the private key of whoever publishes: PEM, or the path of a file that holds it."""

VERIFY_KEY = "TOOLSCALE_VERIFY_KEY"
"""The same with the public key of whoever is trusted."""

MAKE_ONE = (
    "make one with `openssl genpkey -algorithm ed25519 -out private.pem` "
    "and `openssl pkey -in private.pem -pubout -out public.pem`"
)


def signing_key() -> Ed25519PrivateKey | None:
    """Return the private key that the environment variable holds or names, or None if it is not set. UsageError if that
    is no private key; the message shows nothing of the content."""
    told = os.environ.get(SIGNING_KEY, "").strip()
    if not told:
        return None
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(_pem(told), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError(f"{SIGNING_KEY} holds no private Ed25519 key without a password; {MAKE_ONE}")
    return key


def public_key(told: str) -> Ed25519PublicKey:
    """Return a public key, given as PEM or as the path of a file that holds it. UsageError if it is none."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(_pem(told))
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise UsageError(f"the key to verify with is no public Ed25519 key; {MAKE_ONE}")
    return key


def sign(manifest: Manifest, key: Ed25519PrivateKey) -> Manifest:
    """Return the manifest with a signature by `key`."""
    value, signer = key.sign(_content(manifest)), key.public_key()
    return manifest.model_copy(update={"signature": Signature(key=_text(_raw(signer)), value=_text(value))})


def check_signature(manifest: Manifest, key: Ed25519PublicKey | None) -> Iterator[Finding]:
    """Yield what is wrong with the signature: it is not one of this manifest, or, where a key is given, it is missing
    or by another one."""
    told = manifest.signature
    if told is None:
        if key is not None:
            yield Finding(MANIFEST, "integrity", "it is not signed; whoever has the key did not publish it")
        return
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        signer = Ed25519PublicKey.from_public_bytes(base64.b64decode(told.key, validate=True))
        signer.verify(base64.b64decode(told.value, validate=True), _content(manifest))
    except (InvalidSignature, ValueError, binascii.Error):
        yield Finding(MANIFEST, "integrity", "the signature is not one of this manifest")
        return
    if key is not None and _raw(key) != _raw(signer):
        yield Finding(MANIFEST, "integrity", f"it is signed by another key: {told.key}")


def _content(manifest: Manifest) -> bytes:
    return render_manifest(manifest.model_copy(update={"signature": None}))


def _pem(told: str) -> bytes:
    if told.startswith("-----BEGIN"):
        return told.encode()
    try:
        return read_file(Path(told))
    except StorageError as error:
        raise UsageError(
            f"the key cannot be read from {printable(told)}; give the path of a PEM file, or its content"
        ) from error


def _raw(key: Ed25519PublicKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()
