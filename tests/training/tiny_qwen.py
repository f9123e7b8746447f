"""A tiny Qwen3 with random weights and a byte-pair tokenizer of its own, made in the test."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

TEMPLATE = Path(__file__).parents[2] / "training" / "templates" / "qwen3.jinja"
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MARKS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>")
"""Tokens of their own that decoding shows, as in Qwen3."""
TEXTS = (
    "You answer the user's question. You may use the tools.",
    '{"name": "call_expert", "arguments": {"expert": "expert-1"}}',
    "What is 17 * 23?",
)


def make_tokenizer(texts: Iterable[str] = TEXTS, words: int = 400) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer: any text survives it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=words, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(list(texts), trainer)
    tokenizer.add_special_tokens([AddedToken(word, special=True) for word in SPECIAL])
    tokenizer.add_tokens([AddedToken(word, special=False, normalized=False) for word in MARKS])
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    wrapped.chat_template = TEMPLATE.read_text()
    return wrapped


def make_model(folder: Path, seed: int = 0, **sizes: int) -> Path:
    """Write model and tokenizer into a folder."""
    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    options = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 16,
    }
    config = Qwen3Config(
        vocab_size=len(tokenizer), max_position_embeddings=4096, tie_word_embeddings=True, **(options | sizes)
    )
    Qwen3ForCausalLM(config).save_pretrained(folder)
    return folder
