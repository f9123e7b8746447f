"""What is published can be tied to its maker: the manifest is signed, and whoever has the public key takes nothing
else."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from tests.installed import needs
from tests.publish.command import Command
from tests.publish.hub_server import Hub
from toolscale.cli import main
from toolscale.dataset.checking.signing import SIGNING_KEY, VERIFY_KEY, check_signature, public_key, sign, signing_key
from toolscale.dataset.manifest import MANIFEST, read_manifest, render_manifest


def make_keys(folder: Path, name: str) -> tuple[Path, Path]:
    """A private and a public key."""
    private, public, key = folder / f"{name}.pem", folder / f"{name}.pub", Ed25519PrivateKey.generate()
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return private, public


@pytest.fixture
def ours(tmp_path: Path) -> tuple[Path, Path]:
    return make_keys(tmp_path, "ours")


@pytest.fixture
def theirs(tmp_path: Path) -> tuple[Path, Path]:
    return make_keys(tmp_path, "theirs")


def test_a_signed_version_is_pulled_and_verified_with_the_key_of_its_maker_alone(
    dataset: Path,
    toolscale: Command,
    hub: Hub,
    ours: tuple[Path, Path],
    theirs: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(SIGNING_KEY, str(ours[0]))
    assert toolscale("publish", dataset, "me/x", "--push")[0] == 0
    out = tmp_path / "pulled"
    status, told, err = toolscale("pull", "me/x", "--out", out, "--key", theirs[1])
    assert (
        (status, told, err.count("\n")) == (2, "", 1) and ": it is signed by another key: " in err and not out.exists()
    )
    assert toolscale("pull", "me/x", "--out", out, "--key", ours[1])[0] == 0
    assert main(["verify", str(out), "--key", str(ours[1])]) == 0
    assert list(check_signature(read_manifest(out), None)) == []
    monkeypatch.setenv(VERIFY_KEY, theirs[1].read_text())
    capsys.readouterr()
    assert main(["verify", str(out)]) == 1
    assert capsys.readouterr().out.startswith(f"{MANIFEST}: integrity: it is signed by another key: ")


@needs("openssl", shutil.which("openssl"), "apt-get install openssl")
def test_keys_are_made_as_the_messages_say(dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private, public = tmp_path / "private.pem", tmp_path / "public.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True, capture_output=True)
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True)
    monkeypatch.setenv(SIGNING_KEY, str(private))
    key = signing_key()
    assert key is not None
    assert list(check_signature(sign(read_manifest(dataset), key), public_key(str(public)))) == []


def test_without_keys_nothing_is_signed_and_whoever_has_one_is_told(
    published: str, dataset: Path, toolscale: Command, ours: tuple[Path, Path], tmp_path: Path
) -> None:
    status, _, err = toolscale("pull", "me/x", "--out", tmp_path / "pulled", "--key", ours[1])
    assert status == 2 and err.endswith(
        f"{MANIFEST}: integrity: it is not signed; whoever has the key did not publish it\n"
    )
    assert toolscale("pull", "me/x", "--out", tmp_path / "pulled")[0] == 0


def test_a_signature_of_another_manifest_is_named_without_a_key_as_well(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    signed = sign(read_manifest(dataset), Ed25519PrivateKey.generate())
    forged = Path(shutil.copytree(dataset, tmp_path / "forged"))
    (forged / MANIFEST).write_bytes(render_manifest(signed.model_copy(update={"name": "toolscale-bank"})))
    assert main(["verify", str(forged)]) == 1
    assert f"{MANIFEST}: integrity: the signature is not one of this manifest" in capsys.readouterr().out


@pytest.mark.parametrize("content", ["", "-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----\n", "secret"])
def test_a_key_that_is_none_is_refused_before_anything_is_sent_and_is_not_repeated(
    dataset: Path, toolscale: Command, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    path = tmp_path / "private.pem"
    path.write_text(content)
    monkeypatch.setenv(SIGNING_KEY, str(path))
    status, out, err = toolscale("publish", dataset, "me/x", "--push")
    assert (
        (status, out, err.count("\n")) == (2, "", 1)
        and f"{SIGNING_KEY} holds no private Ed25519 key" in err
        and "secret" not in err
    )
    assert hub.writes() == []


def test_a_key_to_verify_with_that_is_none_is_refused(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "key.pub").write_text("ssh-ed25519 AAAA me@here")
    assert main(["verify", str(dataset), "--key", str(tmp_path / "key.pub")]) == 2
    assert "the key to verify with is no public Ed25519 key; make one with `openssl" in capsys.readouterr().err
    assert main(["verify", str(dataset), "--key", str(tmp_path / "missing.pub")]) == 2
    assert "the key cannot be read from " in capsys.readouterr().err
