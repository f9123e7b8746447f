"""An expert is swapped by editing the catalogue alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from chat_server import chat_server, said

from toolscale.errors import UsageError
from toolscale.models.catalogue import load_catalogue
from toolscale.models.experts import make_expert
from toolscale.models.pricing import cost_usd
from toolscale.records import AnswerKey, Script

EXPERTS = Path(__file__).parents[2] / "experts"
KEY = AnswerKey(right=Script(answer="42"), wrong=(Script(answer="41"),))


def ask_all(path: Path, name: str) -> tuple[str, str | None, bool]:
    """What a rollout does with an expert, whatever stands behind it: make it, ask it, charge for it."""
    spec = next(expert for expert in load_catalogue(path).experts if expert.name == name)
    messages = [{"role": "user", "content": "How much is 6 x 7?"}]
    reply = asyncio.run(make_expert(spec).reply(messages, (), key=KEY, category="arithmetic", draw="1", made=()))
    return reply.kind, reply.content, cost_usd(spec.price, reply.input_tokens, reply.output_tokens) > 0


def test_the_catalogue_alone_decides_who_answers(tmp_path: Path) -> None:
    path = tmp_path / "edited.yaml"
    path.write_text((EXPERTS / "paper.yaml").read_text())
    assert ask_all(path, "gpt-5") == ("simulated", "The answer is 42.", True)
    with chat_server(said("Forty-two.")) as server:
        endpoint = f"    endpoint: {{base_url: '{server.base_url}', model: gpt-5}}\n"
        path.write_text(path.read_text().replace("    title: GPT-5\n", "    title: GPT-5\n" + endpoint))
        assert ask_all(path, "gpt-5") == ("endpoint", "Forty-two.", True)
        assert ask_all(path, "gpt-5-mini")[0] == "simulated"


def test_a_key_that_is_missing_fails_before_anything_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOT_SET_KEY", raising=False)
    path = tmp_path / "edited.yaml"
    endpoint = "    endpoint: {base_url: 'http://127.0.0.1:9/v1', model: gpt-5, api_key_env: NOT_SET_KEY}\n"
    path.write_text((EXPERTS / "paper.yaml").read_text().replace("    title: GPT-5\n", "    title: GPT-5\n" + endpoint))
    with pytest.raises(UsageError, match="NOT_SET_KEY is not set"):
        make_expert(load_catalogue(path).experts[0])
