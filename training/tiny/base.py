"""Make the base model of the embedded default: it reads, and prefers nothing.

    python -m training.tiny.base --out training/tiny/base

A curriculum: first who is strongest in a category that is named, then in the category of a question, then every probe.
Without it a model of this size stays at chance for long: to look up (alias, category) it must first find out what to
look for.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import torch
from torch.nn.functional import cross_entropy
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from training.tiny.probes import KINDS, Sheet, Texts, draw_sheet
from training.tiny.tokenizer import collapse, make_tokenizer
from training.tiny.words import ALIASES, LEVELS, fact

EVERY = {
    "strongest": 0.2,
    "cheapest": 0.06,
    "fastest": 0.06,
    "name": 0.03,
    "read": 0.25,
    "kind": 0.06,
    "weight": 0.24,
    "act": 0.1,
}
STAGES: tuple[tuple[dict[str, float], float], ...] = (
    ({"strongest": 0.9, "cheapest": 0.1}, 1.0),
    ({"strongest": 0.7, "kind": 0.2, "cheapest": 0.1}, 0.3),
    (EVERY, 0.15),
)
"""(shares of probes, how often a category is named instead of a question being asked). The next stage begins when the
strongest is found."""
DROPPED = 0.15
"""Share of the words of questions that are made unknown."""
PASSED = 0.9
"""Share of right answers about the strongest expert with which a stage ends."""


def make_model(words: int, layers: int, width: int, seed: int) -> Qwen3ForCausalLM:
    """A Qwen3 with random weights. Words of facts begin as (a direction of their own) x (their level), so that levels
    are comparable at once."""
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
            max_position_embeddings=512,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=None,
        )
    )


def place_facts(model: Qwen3ForCausalLM, ids: dict[str, int], scale: float = 0.05) -> None:
    """Set the embeddings of facts: for each (alias, kind) a direction, as long as the level, and parts that say who and
    what."""
    table = model.model.embed_tokens.weight.data
    width = table.shape[1]

    def draw(size: float) -> torch.Tensor:
        return torch.randn(width) * scale * size

    kinds = {kind: draw(0.8) for kind in LEVELS}
    levels = [draw(0.4) for _ in range(16)]
    for alias in ALIASES:
        who = draw(0.8)
        table[ids[alias]] += who
        for kind, count in LEVELS.items():
            direction = draw(1.0)
            for level in range(count):
                table[ids[fact(alias, kind, level)]] = (
                    direction * (2 * level / (count - 1) - 1) + who + kinds[kind] + levels[level]
                )
    for kind, part in kinds.items():
        table[ids[kind if kind in ids else f"{kind}!"]] += part


def take_over(model: Qwen3ForCausalLM, ids: dict[str, int], start: Path) -> None:
    """Copy what an earlier base model of the same shape has learned: its layers, and the words that it knew."""
    before = Qwen3ForCausalLM.from_pretrained(start, dtype=torch.float32)
    known = PreTrainedTokenizerFast.from_pretrained(start).get_vocab()
    table = model.model.embed_tokens.weight.data.clone()
    both = [word for word in ids if word in known]
    table[[ids[word] for word in both]] = before.model.embed_tokens.weight.data[[known[word] for word in both]]
    layers = {name: value for name, value in before.model.state_dict().items() if name != "embed_tokens.weight"}
    model.model.load_state_dict({**layers, "embed_tokens.weight": table})


class Packer:
    """Sheets to tensors: one row a sheet, each probe seeing the cards and itself, at the places where it would stand
    alone."""

    def __init__(self, ids: dict[str, int]) -> None:
        self.ids = ids

    def pack(self, sheets: Sequence[Sheet]) -> tuple[dict[str, torch.Tensor], torch.Tensor, torch.Tensor, list[str]]:
        """Return the arguments of the model, where targets are (in the flattened rows), the targets, and the kind of
        each."""
        width = max(len(sheet.cards) + sum(len(probe.words) for probe in sheet.probes) for sheet in sheets)
        words = torch.zeros(len(sheets), width, dtype=torch.long)
        places, segments = torch.zeros_like(words), torch.full_like(words, -1)
        where: list[int] = []
        wanted: list[int] = []
        kinds: list[str] = []
        for row, sheet in enumerate(sheets):
            start = len(sheet.cards)
            self._put(words[row], places[row], segments[row], sheet.cards, 0, 0, 0)
            end = start
            for number, probe in enumerate(sheet.probes, 1):
                self._put(words[row], places[row], segments[row], probe.words, end, start, number)
                for place, word in probe.targets:
                    where.append(row * width + end + place)
                    wanted.append(self.ids[word])
                    kinds.append(probe.kind)
                end += len(probe.words)
        order = torch.arange(width)
        same = segments[:, None, :] == segments[:, :, None]
        mask = (same | (segments[:, None, :] == 0)) & (order[None, :] <= order[:, None])[None]
        mask |= torch.eye(width, dtype=torch.bool)[None]
        arguments = {"input_ids": words, "position_ids": places, "attention_mask": mask[:, None]}
        return arguments, torch.tensor(where), torch.tensor(wanted), kinds

    def _put(
        self,
        words: torch.Tensor,
        places: torch.Tensor,
        segments: torch.Tensor,
        text: Sequence[str],
        at: int,
        first: int,
        number: int,
    ) -> None:
        end = at + len(text)
        words[at:end] = torch.tensor([self.ids[word] for word in text])
        places[at:end] = torch.arange(first, first + len(text))
        segments[at:end] = number


def words_of(tokenizer: PreTrainedTokenizerFast, text: str) -> list[str]:
    """Return the words of a text as the model sees them."""
    words: list[str] = tokenizer.convert_ids_to_tokens(
        collapse(tokenizer, tokenizer.encode(text, add_special_tokens=False))
    )
    return words


def answers(model: Qwen3ForCausalLM, packed: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return logits at the targets, and the targets."""
    arguments, where, wanted, _ = packed
    states = model.model(**arguments).last_hidden_state.flatten(0, 1)[where]
    return model.lm_head(states), wanted


def train(
    model: Qwen3ForCausalLM,
    packer: Packer,
    texts: Texts,
    steps: int,
    lr: float,
    sheets: int,
    probes: int,
    seed: int,
    first_stage: int = 0,
    act: float = EVERY["act"],
) -> None:
    """Train for so many steps; the learning rate falls to nothing at the last one. `act`: the weight of the form among
    the probes of the last stage."""
    rng = random.Random(f"probes:{seed}")
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.98), weight_decay=0.01)
    began, stage, since = time.monotonic(), first_stage, 0
    recent: list[tuple[str, bool]] = []
    for step in range(1, steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = lr * min(1.0, step / 100) * max(0.02, 1 - step / steps)
        shares, plain = STAGES[stage]
        shares = {**shares, "act": act} if "act" in shares else shares
        packed = packer.pack([draw_sheet(rng, texts, shares, plain, probes) for _ in range(sheets)])
        logits, wanted = answers(model, packed)
        optimizer.zero_grad()
        cross_entropy(logits, wanted).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        recent = [*recent, *zip(packed[3], (logits.argmax(1) == wanted).tolist(), strict=True)][-8000:]
        if (
            step % 20 == 0
            and stage + 1 < len(STAGES)
            and step - since > 40
            and share_right(recent[-3000:])["strongest"] > PASSED
        ):
            stage, since = stage + 1, step
            click.echo(f"step {step}: stage {stage + 1}")
        if step % 100 == 0:
            shown = " ".join(f"{kind} {share:.2f}" for kind, share in share_right(recent).items())
            click.echo(f"step {step}, {time.monotonic() - began:.0f} s: {shown}")


def share_right(found: Sequence[tuple[str, bool]]) -> dict[str, float]:
    """Return kind of probe -> share of right answers."""
    return {kind: sum(right) / len(right) for kind in KINDS if (right := [ok for name, ok in found if name == kind])}


@torch.no_grad()
def examine(model: Qwen3ForCausalLM, packer: Packer, texts: Texts, seed: int, sheets: int = 400) -> dict[str, float]:
    """Return the share of right answers by kind of probe, over sheets that were not trained on. `act` is blind, and
    left out."""
    rng = random.Random(f"examination:{seed}")
    found: list[tuple[str, bool]] = []
    for _ in range(sheets // 50):
        packed = packer.pack([draw_sheet(rng, texts, {**EVERY, "act": 0.0}, 0.1, 12) for _ in range(50)])
        logits, wanted = answers(model, packed)
        found += zip(packed[3], (logits.argmax(1) == wanted).tolist(), strict=True)
    return {kind: round(share, 4) for kind, share in share_right(found).items()}


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("training/tiny/base"), show_default=True)
@click.option("--steps", type=click.IntRange(1), default=2500, show_default=True)
@click.option("--layers", type=int, default=2, show_default=True)
@click.option("--width", type=int, default=128, show_default=True)
@click.option("--lr", type=float, default=2e-3, show_default=True)
@click.option("--threads", type=int, default=2, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--start",
    type=click.Path(path_type=Path, exists=True),
    help="A base model to go on from, with every probe at once; it may know other words.",
)
@click.option("--two-steps", is_flag=True, help="Show the form of two calls too: search, then the interpreter.")
def command(
    out: Path,
    steps: int,
    layers: int,
    width: int,
    lr: float,
    threads: int,
    seed: int,
    start: Path | None,
    two_steps: bool,
) -> None:
    """Train the base model on reading probes and write it, with its tokenizer and the results of the probes."""
    torch.set_num_threads(threads)
    tokenizer = make_tokenizer()
    ids = tokenizer.get_vocab()
    model = make_model(len(ids), layers, width, seed)
    before: list[dict[str, Any]] = []
    if start is None:
        place_facts(model, ids)
    else:
        take_over(model, ids, start)
        before = json.loads((start / "probes.json").read_text(encoding="utf-8"))["legs"]
    packer = Packer(ids)

    def texts(split: str, count: int, seed: int, dropped: float = 0.0, two_steps: bool = False) -> Texts:
        return Texts(lambda text: words_of(tokenizer, text), split, count, seed, dropped, two_steps)

    began = time.monotonic()
    first_stage = 0 if start is None else len(STAGES) - 1
    shown = texts("train", 3000, seed, DROPPED, two_steps)
    act = 0.5 if two_steps else EVERY["act"]
    train(model, packer, shown, steps, lr, 48, 8, seed + len(before), first_stage, act)
    minutes = round((time.monotonic() - began) / 60, 1)
    model.eval()
    results, unseen = (examine(model, packer, texts(split, 500, seed + 1), seed + 1) for split in ("train", "test"))
    model.half().save_pretrained(out)
    tokenizer.save_pretrained(out)
    size = sum(parameter.numel() for parameter in model.parameters())
    report = {
        "parameters": size,
        "seed": seed,
        "legs": [*before, {"steps": steps, "minutes": minutes, "lr": lr, "threads": threads}],
        "probes": results,
        "unseen words": unseen,
    }
    (out / "probes.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    click.echo(json.dumps(report, indent=2))


if __name__ == "__main__":
    command()
