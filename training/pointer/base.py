"""A pointer model before training: random weights, and the words of a domain.

    python -m training.pointer.base CONVERSATIONS --domain gym --out var/models/pointer

Exit status: 0 done, 2 bad input.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from toolscale.environment import load_environment
from training.conversations import read_conversations
from training.pointer.vocabulary import make_tokenizer, vocabulary_of
from training.starting import run_command

LAYERS, WIDTH, CONTEXT = 4, 128, 2048


def make_model(words: int, layers: int, width: int, seed: int) -> Qwen3ForCausalLM:
    """A Qwen3 with random weights. Its embeddings are tied: what it finds at a place is what it writes."""
    torch.manual_seed(seed)
    return Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=words,
            hidden_size=width,
            num_hidden_layers=layers,
            num_attention_heads=4,
            num_key_value_heads=4,
            head_dim=width // 4,
            intermediate_size=3 * width,
            max_position_embeddings=CONTEXT,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=None,
        )
    )


def make_base(
    conversations: Path, domain: str, out: Path, layers: int = LAYERS, width: int = WIDTH, seed: int = 0
) -> int:
    """Write a model and its tokenizer; return how many words it has."""
    environment = load_environment(domain)
    words = vocabulary_of(read_conversations(conversations), environment.folder)
    make_model(len(words), layers, width, seed).save_pretrained(out)
    make_tokenizer(words).save_pretrained(out)
    return len(words)


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.argument("conversations", type=click.Path(path_type=Path))
@click.option("--domain", required=True, help="Whose files tell words from names.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder of the model.")
@click.option("--layers", type=click.IntRange(1), default=LAYERS, show_default=True)
@click.option("--width", type=click.IntRange(16), default=WIDTH, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
def command(conversations: Path, domain: str, out: Path, layers: int, width: int, seed: int) -> None:
    """Make a model for the words of CONVERSATIONS (a JSONL file)."""
    words = make_base(conversations, domain, out, layers, width, seed)
    click.echo(f"{words:,} words, {layers} layers of width {width}: {out}")


if __name__ == "__main__":
    sys.exit(run_command(command, "python -m training.pointer.base"))
