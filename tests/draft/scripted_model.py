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

WISHES = {
    "close_last_loan": "do", "close_overdue_loans": "do", "postpone_loan": "do", "ask_next_loan": "ask",
    "postpone_loan_too_long": "refuse", "complain": "transfer",
}  # fmt: skip
BRIEF = {
    "title": "Library",
    "description": "A library lends books.",
    "tables": TABLES,
    "subjects": [{"table": "patron", "columns": "a name"}, {"table": "loan", "columns": "a due date and a fee"}],
    "rules": ["No loan is postponed by more than 30 days.", "Only open loans are closed."],
    "transfer_reasons": {"complaint": "The patron wants to complain."},
    "wishes": [{"id": name, "kind": kind, "wish": f"They want to {name}."} for name, kind in WISHES.items()],
}
PRICE = {"prompt_tokens": 1_000, "completion_tokens": 500}

WRONG = {
    "id": "complain", "title": "complain", "outcome": "transfer",
    "roles": {"patron": {"is": "patrons", "by": "identity"}},
    "do": [{"moved": {"transfer_to_human": {"reason": "'complaint'"}}}],
    "requests": ["I want to complain about my loans."],
}  # fmt: skip


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
    written = {
        "schema.yaml": block("schema.yaml", TEXTS["schema.yaml"]),
        "population.yaml": block("population.yaml", TEXTS["population.yaml"].replace("table: loans", "table: loan")),
        "language.yaml": block("language.yaml", {**language, "acts": {}}),
        "toolset.yaml": block("toolset.yaml", toolset.replace("SET due_on =", "SET due_day ="))
        + block("language.yaml", {"acts": language["acts"]}),
        "policy.md": block("policy.md", TEXTS["policy.md"]) + block("rules.yaml", TEXTS["rules.yaml"]),
        "intents.yaml": block("intents.yaml", {"intents": [*yaml.safe_load(TEXTS["intents.yaml"])["intents"], WRONG]}),
    }
    return said(written[wanted[0]], usage=PRICE)
