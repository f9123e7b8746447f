"""The tiny configuration and its committed base model, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from training.config_file import read_config
from training.tiny.tokenizer import make_tokenizer

ROOT = Path(__file__).parents[2]
BASE = ROOT / "training" / "tiny" / "base"


def tiny() -> Any:
    """Return the configuration of the tiny router."""
    return read_config(ROOT / "training" / "configs" / "tiny_cpu.yaml")


VOCABULARY = make_tokenizer().get_vocab()


def ids(*said: str) -> list[int]:
    """Return the ids of words."""
    return [VOCABULARY[word] for word in said]
