"""A pointer model before training: random weights, and the words of a domain.

    python -m training.pointer.base CONVERSATIONS --domain gym --out var/models/pointer

Exit status: 0 done, 2 bad input.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from toolscale.environment.environment import load_environment
from training.conversations import read_conversations
from training.pointer.vocabulary import make_tokenizer, vocabulary_of
from training.starting import run_command

LAYERS, WIDTH, CONTEXT = 4, 128, 2048
HEADS, HEAD = 4, 64
THETA = 1e6
"""Of RoPE: most of a head's dimensions hardly turn within a conversation."""
EMBEDDING = 0.1
"""Standard deviation of embeddings before training."""
HANDED_ON, COPIED = 0.4, 1.2
"""How much the pointer's heads add to what a token is: what the one before is, and what is written."""
NEAR, FAR = slice(0, 4), slice(12, HEAD // 2)
"""Pairs of dimensions that turn fast, and tell one place from the next; and that hardly turn, and tell words apart."""


def make_model(words: int, layers: int, width: int, seed: int) -> Qwen3ForCausalLM:
    """A Qwen3 with random weights and a pointer. Its embeddings are tied: what it finds at a place is what it
    writes."""
    torch.manual_seed(seed)
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=words,
            hidden_size=width,
            num_hidden_layers=layers,
            num_attention_heads=HEADS,
            num_key_value_heads=HEADS,
            head_dim=HEAD,
            intermediate_size=3 * width,
            max_position_embeddings=CONTEXT,
            rope_parameters={"rope_type": "default", "rope_theta": THETA},
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=None,
        )
    )
    with torch.no_grad():
        place_pointer(model)
    return model


def place_pointer(model: Qwen3ForCausalLM) -> None:
    """Give one head of each of the first two layers something to begin with. That of the first looks at the token
    before its own. That of the second looks where the token before is the one that it stands on, and writes what stands
    there: after `.member_id` what came after it last time (an induction head; Olsson et al. 2022, In-context Learning
    and Induction Heads). Where else to look is learned; from random weights that had not begun after 900 steps.
    """
    width = model.config.hidden_size
    first, second = model.model.layers[0].self_attn, model.model.layers[1].self_attn
    directions = torch.linalg.qr(torch.randn(width, width))[0]
    # All tokens have one direction in common, by which a head can look at a place whatever stands there. Words are told
    # apart by half of the others, and the other half takes what the token before is.
    everywhere, own, last = directions[:, 0], directions[:, 1 : width // 2], directions[:, width // 2 :]
    embeddings = torch.randn(model.config.vocab_size, width)
    embeddings -= torch.outer(embeddings @ everywhere, everywhere)
    model.get_input_embeddings().weight.copy_(EMBEDDING * (embeddings + width**0.5 * everywhere))
    reads, puts = _padded(own), _padded(last)

    near = torch.zeros(HEAD // 2)
    near[NEAR] = 1.0
    turn = THETA ** (-torch.arange(HEAD // 2) / (HEAD // 2))
    here, before = torch.cat([near, 0 * near]), torch.cat([near * turn.cos(), -near * turn.sin()])
    _set_head(first, torch.outer(before, everywhere), torch.outer(here, everywhere), HANDED_ON * reads.T, puts)
    _sharpen(first, near)

    far = torch.zeros(HEAD // 2)
    far[FAR] = 1.0
    mask = torch.cat([far, far]).unsqueeze(1)
    _set_head(second, mask * reads.T, mask * puts.T, reads.T, COPIED * reads)
    _sharpen(second, far)


def _padded(columns: torch.Tensor) -> torch.Tensor:
    """As many columns as a head has dimensions."""
    kept = columns[:, :HEAD]
    return torch.nn.functional.pad(kept, (0, HEAD - kept.shape[1]))


def _set_head(
    attention: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, output: torch.Tensor
) -> None:
    """Set the first head of a layer; `query`, `key` and `value` are (head, width), `output` is (width, head)."""
    attention.q_proj.weight[:HEAD].copy_(query)
    attention.k_proj.weight[:HEAD].copy_(key)
    attention.v_proj.weight[:HEAD].copy_(value)
    attention.o_proj.weight[:, :HEAD].copy_(output)


def _sharpen(attention: Any, pairs: torch.Tensor, gain: float = 2.0) -> None:
    """Make differences in some pairs of dimensions count more."""
    scale = 1.0 + (gain - 1.0) * torch.cat([pairs, pairs])
    attention.q_norm.weight.copy_(scale)
    attention.k_norm.weight.copy_(scale)


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
@click.option("--layers", type=click.IntRange(2), default=LAYERS, show_default=True)
@click.option("--width", type=click.IntRange(16), default=WIDTH, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
def command(conversations: Path, domain: str, out: Path, layers: int, width: int, seed: int) -> None:
    """Make a model for the words of CONVERSATIONS (a JSONL file)."""
    words = make_base(conversations, domain, out, layers, width, seed)
    click.echo(f"{words:,} words, {layers} layers of width {width}: {out}")


if __name__ == "__main__":
    sys.exit(run_command(command, "python -m training.pointer.base"))
