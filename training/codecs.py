"""The codec that a configuration names."""

from __future__ import annotations

from training.chat import ChatCodec, Codec
from training.config import ModelSettings


def load_codec(settings: ModelSettings) -> Codec:
    """Load the codec of a model. Raises UsageError where there is none, or its tokenizer cannot keep written tokens."""
    if settings.codec == "tiny":
        from training.tiny.codec import TinyCodec

        codec: Codec = TinyCodec.load(settings.path)
        return codec
    return ChatCodec.load(settings.path, settings.template, settings.thinking)
