"""A scripted model that drafts a small domain, makes mistakes, and is told so; and the settings that lead to it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from chat_server import Answer, said

from toolscale.environment.scaffold import read_tables, scaffold_texts

TABLES = "patron, loan by patron"
TEXTS = scaffold_texts("library", read_tables(TABLES))
"""What the model writes in the end: the files of a new domain."""


def brief_of(title: str, person: str, thing: str) -> dict[str, Any]:
    """What a model plans for a domain of persons and things that belong to them."""
    wishes = {
        f"close_last_{thing}": "do", f"close_overdue_{thing}s": "do", f"postpone_{thing}": "do",
        f"ask_next_{thing}": "ask", f"postpone_{thing}_too_long": "refuse", "complain": "transfer",
    }  # fmt: skip
    return {
        "title": title,
        "description": f"A {title.lower()} serves people.",
        "tables": f"{person}, {thing} by {person}",
        "subjects": [{"table": person, "columns": "a name"}, {"table": thing, "columns": "a due date and a fee"}],
        "rules": [f"No {thing} is postponed by more than 30 days.", f"Only open {thing}s are closed."],
        "transfer_reasons": {"complaint": f"The {person} wants to complain."},
        "wishes": [{"id": name, "kind": kind, "wish": f"They want to {name}."} for name, kind in wishes.items()],
    }


BRIEF = brief_of("Library", "patron", "loan")
PRICE = {"prompt_tokens": 1_000, "completion_tokens": 500}

WRONG = {
    "id": "complain", "title": "complain", "outcome": "transfer",
    "roles": {"patron": {"is": "patrons", "by": "identity"}},
    "do": [{"moved": {"transfer_to_human": {"reason": "'complaint'"}}}],
    "requests": ["I want to complain about my loans."],
}  # fmt: skip


FRAMED = "Could you move {loan} back by {days} days for me? I'd like to know the new date too, so when is it due then?"
"""A whole message that the model writes for `postpone_loan`; for other shapes it has none."""


def block(file: str, value: Any) -> str:
    text = value if isinstance(value, str) else yaml.safe_dump(value, sort_keys=False)
    return f"```{'md' if file.endswith('.md') else 'yaml'} {file}\n{text.rstrip()}\n```\n"


def use(monkeypatch: pytest.MonkeyPatch, address: str, model: str = "m", price: str = "1/10") -> None:
    monkeypatch.setenv("TOOLSCALE_MODEL", model)
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    monkeypatch.setenv("TOOLSCALE_MODEL_PRICE", price)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def reply(body: dict[str, Any]) -> Answer:
    """Answer as a model might: the population with an unknown table, the tools with a wrong column at first, and an
    intent that is never right."""
    prompt = str(body["messages"][-1]["content"])
    if "Messages:" in prompt:
        return said(json.dumps({"wrong": []}), usage=PRICE)
    if shape := re.findall(r"^## (.*)$", prompt, re.MULTILINE)[-1:] if '"nobody"' in prompt else []:
        written = [{"text": "x", "say": FRAMED}] if shape == ["postpone_loan"] else []
        return said(json.dumps({"messages": written, "nobody": ""}), usage=PRICE)
    if "Plan the domain" in prompt:
        return said(json.dumps(BRIEF), usage=PRICE)
    wanted = re.findall(r"^Write (?:in )?`(\S+)`", prompt, re.MULTILINE)
    language, toolset = yaml.safe_load(TEXTS["language.yaml"]), TEXTS["toolset.yaml"]
    if not wanted:  # findings
        if "postpone_loan" in prompt and "due_day" in prompt:
            (tool,) = (each for each in yaml.safe_load(toolset)["tools"] if each["name"] == "postpone_loan")
            return said(block("toolset.yaml", {"tools": [tool]}), usage=PRICE)
        if "'loan'" in prompt:
            return said(block("population.yaml", TEXTS["population.yaml"] + "remove: [loan]\n"), usage=PRICE)
        return said(block("intents.yaml", {"intents": []}), usage=PRICE)
    files = {
        "schema.yaml": block("schema.yaml", TEXTS["schema.yaml"]),
        "population.yaml": block("population.yaml", TEXTS["population.yaml"].replace("table: loans", "table: loan")),
        "language.yaml": block("language.yaml", {**language, "acts": {}}),
        "toolset.yaml": block("toolset.yaml", toolset.replace("SET due_on =", "SET due_day ="))
        + block("language.yaml", {"acts": language["acts"]}),
        "policy.md": block("policy.md", TEXTS["policy.md"]) + block("rules.yaml", TEXTS["rules.yaml"]),
        "intents.yaml": block("intents.yaml", {"intents": [*yaml.safe_load(TEXTS["intents.yaml"])["intents"], WRONG]}),
    }
    return said(files[wanted[0]], usage=PRICE)
