"""What a scripted model that drafts domains needs: the form of its replies, and the settings that lead to it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml


def block(file: str, value: Any) -> str:
    text = value if isinstance(value, str) else yaml.safe_dump(value, sort_keys=False)
    return f"```{'md' if file.endswith('.md') else 'yaml'} {file}\n{text.rstrip()}\n```\n"


def use(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("TOOLSCALE_MODEL", "m")
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    monkeypatch.setenv("TOOLSCALE_MODEL_PRICE", "1/10")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
