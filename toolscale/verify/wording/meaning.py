"""What the words of a plan are: every phrasing of its own with the values of one case, read once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from toolscale.environment.environment import Environment
from toolscale.language.marks import Known
from toolscale.language.verbs import FAMILIES, past_forms
from toolscale.patterns import regex
from toolscale.records import LanguageSpec, Persona
from toolscale.tasks.names import columns_of
from toolscale.tasks.phrase import phrasings
from toolscale.tasks.plan import Plan
from toolscale.tasks.record import Inputs
from toolscale.tasks.words import known_values
from toolscale.verify.wording.lexicon import Lexicon
from toolscale.verify.wording.reading import Reading, read, stem, words_of
from toolscale.verify.wording.vocabulary import CAREFUL, DOWN, JOINING, PLAIN, TELLING, UP

PHRASINGS = 40
"""Of a plan that are read at most."""

_PLACE = regex(r"\{[^{}]*\}")
_BRACKETS = regex(r"[\[\]|]")


@dataclass(frozen=True)
class Meaning:
    """A plan with the values of one case, as its own phrasings say it."""

    environment: Environment
    plan: Plan
    inputs: Inputs
    """The values of the case."""
    told: tuple[str, ...]
    """The kinds of the facts that must be told, yes or no left out."""
    lexicon: Lexicon

    @property
    def today(self) -> str:
        """The date of the environment's clock."""
        return self.environment.spec.world.today

    @property
    def language(self) -> LanguageSpec:
        """The words of the environment."""
        return self.environment.spec.language

    @cached_property
    def known(self) -> tuple[Known, ...]:
        """The values that the plan says."""
        return known_values(self.plan, self.environment, self.inputs)

    def read(self, text: str) -> Reading:
        """Read a request of this plan."""
        return read(text, self.known, self.today)

    @cached_property
    def phrasings(self) -> tuple[Reading, ...]:
        """The plan's own phrasings."""
        texts = phrasings(self.plan, self.environment, self.inputs.said, self.inputs.say, PHRASINGS)
        return tuple(self.read(text) for text in texts)

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word that some phrasing of the plan, or a greeting, has: in small letters, values left out."""
        frames = frozenset(word for text in self._frames() for word in _plain_words(text))
        return frames | self.own_words

    @cached_property
    def own_words(self) -> frozenset[str]:
        """The same without greetings and thanks."""
        return frozenset(word for text in self._texts() for word in _plain_words(text))

    @cached_property
    def value_words(self) -> frozenset[str]:
        """The words of the values."""
        return frozenset(word for known in self.known for word in words_of(str(known.value).lower()))

    @cached_property
    def value_stems(self) -> frozenset[str]:
        """Their stems."""
        return frozenset(map(stem, self.value_words))

    @cached_property
    def tools(self) -> frozenset[str]:
        """The writing tools that the request wants called."""
        return frozenset(call.tool.spec.name for call in self.plan.calls() if call.tool.mutates_state)

    @cached_property
    def deeds(self) -> Mapping[str, frozenset[str]]:
        """Tool of the plan -> stems of the verbs for it. A verb of another tool is none, unless the plan's words have
        it."""
        own = {word for tool in self.tools for word in self.lexicon.verbs.get(tool, ())}
        others = {verb for tool, verbs in self.lexicon.verbs.items() if tool not in self.tools for verb in verbs}
        others |= {verb for verb in UP | DOWN if stem(verb) not in self.stems}
        found = {}
        for tool in sorted(self.tools):
            base = set(self.lexicon.verbs.get(tool, ()))
            alike = {verb for family in FAMILIES if family & base for verb in family}
            verbs = {verb for verb in base | alike if verb in own or verb not in others}
            forms = {form for verb in verbs for form in (verb, *past_forms(verb)) if " " not in form}
            found[tool] = frozenset(map(stem, forms)) | {stem(verb.split()[0]) for verb in base if " " in verb}
        return found

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of `words`."""
        return frozenset(map(stem, self.words))

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The stems of every word that may stand in what is wished for."""
        return (
            self.stems
            | frozenset(map(stem, PLAIN | CAREFUL | TELLING | JOINING | self.value_words))
            | frozenset(verb for verbs in self.deeds.values() for verb in verbs)
        )

    @cached_property
    def things(self) -> frozenset[str]:
        """Stems of words for things of the trade that neither a phrasing nor a value of the plan has."""
        spec, found = self.environment.schema, set[str]()
        for table in spec.tables:
            found |= {*table.split("_"), self.language.nouns.get(table, ""), self.language.plurals.get(table, "")}
        found |= {word for words in self.language.adjectives.values() for word in words.values()}
        found |= {word for cues in self.language.enum_cues.values() for word in cues if " " not in word}
        found |= {words_of(name)[-1] for name in self.lexicon.names if words_of(name)}
        for name, tool in self.environment.tools.items():
            found |= set(name.split("_")[1:]) if tool.mutates_state else set()
        plain = frozenset(map(stem, PLAIN | CAREFUL))
        kept = {stem(word) for word in found if len(word) > 2}
        return frozenset(kept - plain - self.stems - frozenset(map(stem, self.value_words)))

    @cached_property
    def nouns(self) -> frozenset[str]:
        """Stems of the nouns of the tables."""
        nouns, plurals = self.language.nouns, self.language.plurals
        tables = self.environment.schema.tables
        return frozenset(
            stem(words.split()[-1].replace("_", " ").split()[-1])
            for table in tables
            for words in (table, nouns.get(table, table), plurals.get(table, table))
        )

    @cached_property
    def other_deeds(self) -> frozenset[str]:
        """Stems of verbs for tools that the plan does not call."""
        own = frozenset().union(*self.deeds.values())
        others = {
            stem(form)
            for tool, verbs in self.lexicon.verbs.items()
            if tool not in self.tools
            for verb in verbs
            if " " not in verb
            for form in (verb, *past_forms(verb))
        }
        return frozenset(others - own - self.stems)

    def tools_of(self, role: str) -> frozenset[str]:
        """The writing tools to which a role, or a slot, is given."""
        found = set()
        for call in self.plan.calls():
            for expression in call.arguments.values():
                slots = columns_of(expression.source, "say", "intents.yaml", self.plan.intent.id)
                if call.tool.mutates_state and role in {*expression.names, *slots}:
                    found.add(call.tool.spec.name)
        return frozenset(found)

    @property
    def _speakers(self) -> list[LanguageSpec | Persona]:
        """Whatever has greetings: the language as a whole, and each kind of person."""
        return [self.language, *self.language.personas.values()]

    def _texts(self) -> Iterator[str]:
        language = self.language
        yield from (request.say for request in self.plan.intent.requests)
        for role in self.plan.roles.values():
            yield role.role.text or ""
            if role.description is not None:
                yield role.description.text
                yield from language.adjectives.get(role.table, {}).values()
            yield " ".join(role.role.cues)

    def _frames(self) -> Iterator[str]:
        for source in self._speakers:
            for frames in (source.openings, source.signatures):
                yield from frames


def _plain_words(text: str) -> tuple[str, ...]:
    return words_of(_BRACKETS.sub(" ", _PLACE.sub(" ", text.lower())))
