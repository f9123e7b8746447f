"""A scripted model that proposes intents for the smallest domain, and oversteps what it may do."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from typing import Any

import yaml
from chat_server import Answer, said
from scripted_model import PRICE, block

MEMBER = {"is": "members", "by": "identity"}
TITLED = {"is": "loans", "of": "member", "by": "title", "where": "loan.status = 'open'"}
RETURN = {
    "id": "return_titled",
    "title": "return one book",
    "roles": {"member": MEMBER, "loan": TITLED},
    "do": [{"returned": {"return_loan": {"loan_id": "loan.loan_id"}}}],
    "requests": [
        "[Please take back|I brought back|Here is] {loan}[ from my bag|]: return it.",
        "I am done with {loan}. [Return it|Take it back|Check it in][, please|].",
        "[Could|Would] you check in {loan}[ now|]?",
        "Somebody of my family [left|put] {loan} on your desk. [Please return|Return] it for me.",
    ],
}
RENEW = {
    "id": "renew_titled",
    "title": "renew one book",
    "roles": {"member": MEMBER, "loan": TITLED},
    "when": "loan.due_on >= :today",
    "do": [{"renewed": {"renew_loan": {"loan_id": "loan.loan_id"}}}],
    "tell": [{"kind": "date", "is": "renewed.due_on", "what": "new due date"}],
    "requests": [
        "I need [longer|more days] for {loan}. [Renew|Extend] it and tell me the new date.",
        "[Give me|Let me have] more time with {loan}, please. When is it due [then|after that]?",
        "[Please renew|Renew] {loan}. Which date do I have to keep in mind now?",
        "I'm [slow|still reading]: renew {loan}, and say when it has to be back.",
    ],
}
COMPLAIN = {
    "id": "complain",
    "title": "complain",
    "outcome": "transfer",
    "roles": {"member": MEMBER},
    "do": [{"moved": {"transfer_to_human": {"reason": "'complaint'"}}}],
    "requests": ["I want to complain about [the noise|a rude guard]."],
}
WISHES = {
    "return_titled": ("do", "They bring back one book, by its title."),
    "renew_titled": ("do", "They want more time for one book, by its title."),
    "complain": ("transfer", "They want to complain."),
}


def wishes(**more: tuple[str, str]) -> str:
    listed = {**WISHES, **more}
    return json.dumps({"wishes": [{"id": name, "kind": kind, "wish": wish} for name, (kind, wish) in listed.items()]})


def changed(intent: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return {**copy.deepcopy(intent), **parts}


TYPO = changed(RENEW, do=[{"renewed": {"renew_lone": {"loan_id": "loan.loan_id"}}}])
"""With a tool that there is not."""
FIRST = block("intents.yaml", {"intents": [RETURN, TYPO, COMPLAIN]})


@dataclass
class ScriptedProposer:
    """Answers with wishes, with `first` for the intents, and puts the tool right when it is told."""

    wishes: tuple[str, ...] = (wishes(),)
    first: str = FIRST
    again: str = block("intents.yaml", {"intents": [RENEW]})
    prompts: list[str] = field(default_factory=list)

    def __call__(self, body: dict[str, Any]) -> Answer:
        prompt = "\n".join(str(each["content"]) for each in body["messages"][1:]) or str(body["messages"][0]["content"])
        if "new wishes" in str(body["messages"][0]["content"]):
            self.prompts.append(prompt)
            corrected = len(body["messages"]) > 1
            return said(self.wishes[min(int(corrected), len(self.wishes) - 1)], usage=PRICE)
        self.prompts.append(prompt)
        return said(self.again if "The checks found" in prompt else self.first, usage=PRICE)

    def told(self) -> list[str]:
        """The findings of each prompt that had some."""
        parts = [prompt.partition("The checks found")[2] for prompt in self.prompts]
        return [part for part in parts if part]


def proposed_entries(text: str) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load(text)["intents"] if "proposed_by" in each]
