"""The requests in which a model is asked for the files of a step, and for what is to change in them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolscale.draft.authoring_parts import parts_of
from toolscale.draft.brief import Brief, Wish, entities_of
from toolscale.draft.digests import digest_of
from toolscale.draft.fields import fields_of
from toolscale.draft.outline import INTENTS, Step
from toolscale.draft.prompting import derived_of, lookups_of, named_intents, shown_intents
from toolscale.draft.sources import Source
from toolscale.environment.registry import POLICY_TEXT
from toolscale.environment.scaffold import Entity, scaffold_texts
from toolscale.models.chat import ChatRequest
from toolscale.prompt_templates import prompt_template

MOST_SHOWN = 60_000
"""Characters of a reply that could not be taken, and is shown again: all of an honest one."""

_OF_RULES = ("polic", "rule", "lawful", "refuse", "transfer")
"""Words of findings for which the policy is read again."""


@dataclass(frozen=True)
class Correction:
    """What is to be mended."""

    findings: Sequence[str]
    allowed: Sequence[str]
    """Files that may change."""
    unread: Sequence[str] = ()
    """The last replies, if they could not be taken whole."""


@dataclass(frozen=True)
class StepRequests:
    """Makes the requests of one draft. What every request of a step begins with is the same to the letter, so that a
    server that keeps what it read reads it once."""

    name: str
    brief: Brief
    folder: Path
    authoring: str
    """The page for authors."""
    today: str
    source: Source | None = None
    entities: list[Entity] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "entities", entities_of(self.brief))

    def first(self, step: Step, wishes: Sequence[Wish], sample: int = 0) -> ChatRequest:
        """Return the request for the files of a step, of intents for those of some wishes."""
        samples = scaffold_texts(self.name, _one_matter(self.entities))
        return self._request(
            step,
            sample,
            wishes=wishes or [wish for wish in self.brief.wishes if not step.kinds or wish.kind in step.kinds],
            **self._files(step.shown, step.whole),
            examples={file: samples[file] for file in step.files if file == step.files[0] or file not in step.sections},
            **_known(self.source, step),
            correction=None,
            others=[],
        )

    def again(self, step: Step, correction: Correction) -> ChatRequest:
        """Return the request for what must change in a step."""
        named, others = named_intents(correction.findings), list[str]()
        whole = {*step.files, *step.whole, *correction.allowed}
        if "population.yaml" not in step.files and not any("population.yaml" in line for line in correction.findings):
            whole.discard("population.yaml")  # to plant rows, what is drawn now will do
        shown = [*step.shown, *step.files, *correction.allowed]
        if POLICY_TEXT not in step.files and not any(word in " ".join(correction.findings) for word in _OF_RULES):
            shown = [file for file in shown if file != POLICY_TEXT]
        told = self._files(shown, whole)
        if step is INTENTS:
            told["files"]["intents.yaml"], others = shown_intents(told["files"].get("intents.yaml", ""), named)
        return self._request(
            step,
            0,
            wishes=[wish for wish in self.brief.wishes if step is INTENTS and wish.id not in others],
            **told,
            examples={},
            operations=(),
            columns=(),
            policy=None,
            correction=correction,
            others=others,
        )

    def _request(self, step: Step, sample: int, **told: Any) -> ChatRequest:
        prompt = prompt_template("toolscale.draft", "files.md.jinja").render(
            brief=self.brief,
            step=step,
            person=self.entities[0].name,
            tables={entity.name: entity.table for entity in self.entities},
            today=self.today,
            lookups=lookups_of(self.folder) if "toolset.yaml" in (*step.files, *step.shown) else [],
            derived=derived_of(self.folder) if "language.yaml" in step.shown else [],
            fields=[
                line
                for file in step.files
                if file.endswith(".yaml")
                for line in fields_of(file, step.sections.get(file, ()))
            ],
            task=step.task.format(person=self.entities[0].role),
            **told,
        )
        pages = parts_of(self.authoring, step.pages)
        system = prompt_template("toolscale.draft", "system.md.jinja").render(pages=pages)
        messages = ({"role": "system", "content": system}, {"role": "user", "content": prompt})
        return ChatRequest(step.name, messages, max_tokens=step.max_tokens, sample=sample)

    def _files(self, shown: Collection[str], whole: Collection[str]) -> dict[str, dict[str, str]]:
        """Return the files that are shown, each once: those that are shown whole, and the others in short."""
        there = [file for file in dict.fromkeys(shown) if (self.folder / file).is_file()]
        return {
            "files": {file: (self.folder / file).read_text(encoding="utf-8") for file in there if file in whole},
            "digests": {file: digest_of(self.folder, file) for file in there if file not in whole},
        }


def _one_matter(entities: Sequence[Entity]) -> list[Entity]:
    """Return the person, the first thing that belongs to the person, and what else that belongs to: a sample has each
    kind of entry once."""
    wanted, left = set[str](), [next(each for each in entities if entities[0] in each.parents)]
    while left:
        entity = left.pop()
        wanted.add(entity.name)
        left += entity.parents
    return [entity for entity in entities if entity.name in wanted]


def _known(source: Source | None, step: Step) -> dict[str, Any]:
    """Return what a prompt tells of the source: the operations where tools are written, figures of columns where rows
    are, the policy where it is."""
    return {
        "operations": source.operations if source and step.name in ("schema", "tools") else (),
        "columns": source.columns if source and step.name == "population" else (),
        "policy": source.policy if source and step.name == "policy" else None,
    }
