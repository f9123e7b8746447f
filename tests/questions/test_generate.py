"""Questions by seed: right answers by a second way, plausible wrong ones, splits that share nothing."""

from __future__ import annotations

import ast
import io
import itertools
import math
import operator
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from datetime import date, timedelta
from fractions import Fraction

import pytest

from toolscale.errors import UsageError
from toolscale.questions import two_steps
from toolscale.questions.facts import ASCII_MARKS, COUNTRIES, ELEMENTS, GREEK, MORSE, NATO, PREFIXES, RESISTORS, UNITS
from toolscale.questions.generate import NAMES, TEMPLATES, VOCABULARY, answer_key, question, questions
from toolscale.questions.reasoning import MONTHS
from toolscale.questions.templates import Drawn, QuestionTemplate, words
from toolscale.records import AnswerKey, Question, Script, Split

SLOT = re.compile(r"\{(\w+)\}")
EVERY = [
    (category, template)
    for category, templates in {**TEMPLATES, "two steps": two_steps.TEMPLATES}.items()
    for template in templates
]
OPERATORS: dict[type, Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.FloorDiv: lambda a, b: Fraction(a // b),
    ast.Pow: lambda a, b: Fraction(a**b),
}


def some(split: str, count: int, *categories: str) -> list[Question]:
    return list(itertools.islice(questions(split, 3, categories or None), count))  # type: ignore[arg-type]


def draws(category: str, name: str, count: int = 150) -> list[Drawn]:
    template = next(template for template in TEMPLATES[category] if template.name == name)
    rng = random.Random(f"{category} {name}")
    return [template.draw(rng) for _ in range(count)]


def exact(node: ast.expr) -> Fraction:
    if isinstance(node, ast.Constant):
        return Fraction(node.value)  # type: ignore[arg-type]
    assert isinstance(node, ast.BinOp)
    return OPERATORS[type(node.op)](exact(node.left), exact(node.right))


def printed(code: str) -> str:
    with redirect_stdout(io.StringIO()) as output:
        exec(code, {})
    return output.getvalue()


def test_arithmetic_agrees_with_exact_fractions_and_with_the_interpreter() -> None:
    for one in some("train", 800, "arithmetic") + some("test", 200, "arithmetic"):
        assert one.snippet is not None and f"`{one.snippet}`" in one.text
        if "sum(" not in one.snippet:
            assert exact(ast.parse(one.snippet, mode="eval").body) == Fraction(one.answer)
        assert str(eval(one.snippet)) == one.answer


def test_programs_print_the_answer() -> None:
    for one in some("train", 800, "code") + some("test", 200, "code"):
        assert one.snippet is not None and (
            f"`{one.snippet}`" in one.text or f"```python\n{one.snippet}\n```" in one.text
        )
        assert printed(one.snippet) == f"{one.answer}\n"


COUNTED: dict[str, Callable[[Mapping[str, int]], int]] = {
    "power": lambda v: v["a"] ** v["b"] % v["m"],
    "either": lambda v: sum(n % v["a"] == 0 or n % v["b"] == 0 for n in range(1, v["n"] + 1)),
    "zeros": lambda v: len(digits := str(math.factorial(v["n"]))) - len(digits.rstrip("0")),
    "leftovers": lambda v: next(n for n in itertools.count(1) if n % v["m"] == v["p"] and n % v["n"] == v["q"]),
    "divisors": lambda v: sum(v["n"] % n == 0 for n in range(1, v["n"] + 1)),
    "committee": lambda v: sum(
        min(group) < v["women"] for group in itertools.combinations(range(v["women"] + v["men"]), v["size"])
    ),
    "paths": lambda v: _walks(0, 0, v["c"], v["d"]) * _walks(v["c"], v["d"], v["a"], v["b"]),
    "dice": lambda v: _odds(v["sides"], v["total"]),
}


def _walks(x: int, y: int, a: int, b: int) -> int:
    return (
        1 if (x, y) == (a, b) else (_walks(x + 1, y, a, b) if x < a else 0) + (_walks(x, y + 1, a, b) if y < b else 0)
    )


def _odds(sides: int, total: int) -> int:
    share = Fraction(sum(a + b == total for a in range(1, sides + 1) for b in range(1, sides + 1)), sides * sides)
    return share.numerator + share.denominator


@pytest.mark.parametrize("name", sorted(COUNTED))
def test_mathematics_agrees_with_counting(name: str) -> None:
    for drawn in draws("mathematics", name, 40):
        values = {key: int(value) for key, value in drawn.slots.items() if value.isdigit()}
        if values.get("n", 0) > {"divisors": 200_000, "zeros": 1000}.get(name, 10_000):
            continue  # too long to count
        assert int(drawn.answer) == COUNTED[name](values), drawn


def test_letters_agree_with_counting() -> None:
    short = {
        drawn.slots["word"]: drawn.answer for drawn in draws("mathematics", "letters") if len(drawn.slots["word"]) < 8
    }
    assert short == {word: str(len(set(itertools.permutations(word)))) for word in short}
    assert "BANANA" in short


def test_mathematics_has_no_template_that_is_not_counted() -> None:
    assert {template.name for template in TEMPLATES["mathematics"]} == {*COUNTED, "letters"}


def solutions(people: list[str], clues: str, holds: Callable[[tuple[str, ...], str], bool]) -> list[tuple[str, ...]]:
    sentences = [sentence for sentence in re.split(r"(?<=\.)\s", clues) if sentence]
    return [order for order in itertools.permutations(people) if all(holds(order, sentence) for sentence in sentences)]


def names_in(text: str) -> list[str]:
    return re.findall("|".join(NAMES), text)


def test_races_have_one_solution_read_from_their_words() -> None:
    ordinals = ["first", "second", "third", "fourth", "fifth"]

    def holds(order: tuple[str, ...], sentence: str) -> bool:
        a, *rest = names_in(sentence)
        if " right after " in sentence:
            return order.index(a) == order.index(rest[0]) + 1
        if " faster than " in sentence:
            return order.index(a) < order.index(rest[0])
        return order.index(a) != ordinals.index(sentence.removesuffix(".").split()[-1])

    for drawn in draws("reasoning", "race"):
        found = solutions(names_in(drawn.slots["names"]), drawn.slots["clues"], holds)
        assert {order[ordinals.index(drawn.slots["place"])] for order in found} == {drawn.answer}


def test_houses_have_one_solution_read_from_their_words() -> None:
    drinks, pets = ("tea", "coffee", "milk", "juice"), ("cat", "dog", "horse", "fish")
    for drawn in draws("reasoning", "houses", 40):
        people = names_in(drawn.slots["names"])
        owners = set()
        for some_drinks, some_pets in itertools.product(itertools.permutations(drinks), itertools.permutations(pets)):
            drink, pet = dict(zip(people, some_drinks, strict=True)), dict(zip(people, some_pets, strict=True))
            agrees = True
            for sentence in re.split(r"(?<=\.)\s", drawn.slots["clues"]):
                things = [word for word in words(sentence) if word in drinks + pets]
                if sentence.startswith("Whoever"):
                    agrees &= any(drink[one] == things[0] and pet[one] == things[1] for one in people)
                elif " not drink " in sentence:
                    agrees &= drink[names_in(sentence)[0]] != things[0]
                elif " not own " in sentence:
                    agrees &= pet[names_in(sentence)[0]] != things[0]
                else:
                    agrees &= drink[names_in(sentence)[0]] == things[0]
            if agrees:
                owners.add(next(one for one in people if pet[one] == drawn.slots["pet"]))
        assert owners == {drawn.answer}


def test_liars_are_told_from_the_honest_in_one_way() -> None:
    for drawn in draws("reasoning", "knights"):
        people = names_in(drawn.slots["names"])
        said = re.findall(r'(\w+) says: "([^"]*)"', drawn.slots["clues"])
        found = []
        for honest in itertools.product((True, False), repeat=3):
            world = dict(zip(people, honest, strict=True))
            if all(world[speaker] == _true(sentence, speaker, world) for speaker, sentence in said):
                found.append(world)
        assert len(found) == 1
        odd = drawn.slots["sort"] == "honest"
        assert [name for name, honest in found[0].items() if honest == odd] == [drawn.answer]


def _true(sentence: str, speaker: str, world: Mapping[str, bool]) -> bool:
    people = names_in(sentence)
    if "same kind" in sentence:
        return world[people[0]] == world[speaker]
    if "At least two" in sentence:
        return sum(not honest for honest in world.values()) >= 2
    if ", or " in sentence:
        return not world[people[0]] or not world[people[1]]
    return all(not world[name] for name in people)


def test_guests_are_counted_from_the_words() -> None:
    for drawn in draws("reasoning", "guests"):
        people = names_in(drawn.slots["names"])
        many = 0
        for coming in itertools.product((True, False), repeat=5):
            comes = dict(zip(people, coming, strict=True))
            rules = {
                r"If (\w+) comes, (\w+) comes too\.": lambda a, b: not a or b,
                r"(\w+) and (\w+) do not both come\.": lambda a, b: not (a and b),
                r"At least one of (\w+) and (\w+) comes\.": lambda a, b: a or b,
                r"(\w+) comes only if (\w+) does not come\.": lambda a, b: not a or not b,
                r"(\w+) or (\w+) comes, but not both\.": lambda a, b: a != b,
            }
            found = [(rule, pair) for text, rule in rules.items() for pair in re.findall(text, drawn.slots["clues"])]
            assert len(found) == drawn.slots["clues"].count(".")
            many += all(rule(comes[one], comes[other]) for rule, (one, other) in found)
        assert str(many) == drawn.answer


def test_weekdays_turns_and_swaps_can_be_followed() -> None:
    for drawn in draws("reasoning", "weekday"):
        day, month, year = drawn.slots["day"].split()
        start = date(int(year), MONTHS.index(month) + 1, int(day))
        assert (f"{start:%A}", f"{start + timedelta(days=int(drawn.slots['days'])):%A}") == (
            drawn.slots["weekday"],
            drawn.answer,
        )
    ring = ["north", "east", "south", "west"]
    for drawn in draws("reasoning", "turns"):
        steps = [
            {"right": 1, "around": 2, "left": 3}[word]
            for word in words(drawn.slots["steps"])
            if word in ("right", "around", "left")
        ]
        assert ring[(ring.index(drawn.slots["start"]) + sum(steps)) % 4] == drawn.answer
    for drawn in draws("reasoning", "swaps"):
        cup = dict(re.findall(r"(\w+) has (\w+)", drawn.slots["cups"]))
        for one, other in re.findall(r"(\w+) and (\w+) swap", drawn.slots["steps"]):
            cup[one], cup[other] = cup[other], cup[one]
        assert cup[drawn.answer] == drawn.slots["drink"]


def test_tables_of_facts() -> None:
    assert [len(table) for table in (ELEMENTS, COUNTRIES, GREEK, MORSE, NATO, RESISTORS)] == [118, 130, 24, 26, 26, 10]
    assert [ELEMENTS[number - 1] for number in (1, 26, 47, 79, 92, 118)] == [
        ("H", "hydrogen"),
        ("Fe", "iron"),
        ("Ag", "silver"),
        ("Au", "gold"),
        ("U", "uranium"),
        ("Og", "oganesson"),
    ]
    for table in (ELEMENTS, COUNTRIES, MORSE, NATO, RESISTORS, UNITS):
        assert all(len(set(column)) == len(column) for column in zip(*table, strict=True))
    assert (
        [name[0] for name in (row[1] for row in NATO)]
        == [row[0] for row in MORSE]
        == [chr(65 + place) for place in range(26)]
    )
    assert len({power for _, power in PREFIXES}) == len(PREFIXES) == 24
    named = {
        "comma": ",",
        "asterisk": "*",
        "tilde": "~",
        "left square bracket": "[",
        "question mark": "?",
        "backslash": "\\",
        "space": " ",
    }
    assert {name: chr(code) for code, name in ASCII_MARKS if name in named} == named


@pytest.mark.parametrize(
    ("category", "template"), EVERY, ids=[f"{category}-{template.name}" for category, template in EVERY]
)
def test_every_template(category: str, template: QuestionTemplate) -> None:
    train, test = template.phrasings.train, template.phrasings.test
    assert len(train) >= 20 and len(test) >= 3
    assert not {plain(text) for text in train} & {plain(text) for text in test}
    rng = random.Random(1)
    texts: dict[str, set[str]] = {"train": set(), "test": set()}
    for split in ("train", "test") * 60:
        text, drawn = template.drawn(rng, split)  # type: ignore[arg-type]
        texts[split].add(text)
        right = {form.casefold() for form in (drawn.answer, *drawn.accepted)}
        assert drawn.wrong and len(set(drawn.wrong)) == len(drawn.wrong)
        assert not {form.casefold() for form in drawn.wrong} & right
        assert "{" not in text.replace("{}", "") and "  " not in text.partition("```")[0]
    assert texts["test"] and not texts["train"] & texts["test"]


@pytest.mark.parametrize("split", ["train", "test"])
def test_phrasings_say_all_that_is_asked(split: Split) -> None:
    """A slot that every phrasing of the training split has is in all phrasings; what tools need is marked."""
    for category, template in EVERY:
        train = [frozenset(SLOT.findall(text)) for text in template.phrasings.train]
        for text in template.phrasings.of(split):
            assert frozenset.intersection(*train) <= frozenset(SLOT.findall(text)) <= frozenset.union(*train), text
            if category in ("lookup", "two steps"):
                assert '"{term}"' in text and '"' not in text.replace('"{term}"', ""), text
            if category in ("arithmetic", "code", "two steps"):
                assert text.count("`{code}`") + text.count("\n```python\n{code}\n```") == 1, text
                assert text.count("`") in (2, 6), text
            if "{code}" not in text:
                assert "`" not in text, text


def plain(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().casefold()


def test_splits_and_seeds_differ_and_numbers_are_stable() -> None:
    train, test = some("train", 3000), some("test", 1000)
    assert not {one.text for one in train} & {one.text for one in test}
    assert [question(number, 3, "train") for number in (0, 7, 2999)] == [train[number] for number in (0, 7, 2999)]
    assert len({one.id for one in train + test}) == 4000
    assert {one.category for one in train} == set(TEMPLATES)
    assert question(0, 4, "train") != train[0]
    with pytest.raises(UsageError, match=r"no questions of the category 'tools'; use some of arithmetic, code, "):
        question(0, 0, "train", ["tools"])


def test_all_words_of_puzzles_and_sums_are_in_the_vocabulary() -> None:
    for one in some("train", 1500, "arithmetic", "code", "mathematics", "reasoning", "lookup"):
        plain = re.sub(
            r'```.*?```|`[^`]*`|"[A-Z][^".]*"(?! )|"[^"]*[a-z] [0-9]+"|"\w+ \w+"', " ", one.text, flags=re.DOTALL
        )
        known = {name.lower() for name in NAMES}
        assert {word for word in words(plain) if word not in known and word.upper() not in plain} - VOCABULARY <= set(
            words(one.lookup or "")
        ), one


def test_an_expert_plays_bare_answers() -> None:
    one = question(0, 0, "train", ["arithmetic"])
    assert answer_key(one) == AnswerKey(
        right=Script(answer=one.answer), wrong=tuple(Script(answer=wrong) for wrong in one.wrong)
    )


def test_every_process_draws_the_same() -> None:
    code = (
        "import itertools\n"
        "from toolscale.preferences.drawing import preferences\n"
        "from toolscale.questions.generate import questions\n"
        "for split in ('train', 'test'):\n"
        "    for one in itertools.islice(questions(split, 3), 120): print(one.model_dump_json())\n"
        "    for one in itertools.islice(preferences(split, 3, ('a', 'b'), ('python',)), 60): "
        "print(one.model_dump_json())"
    )
    written = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert written[0] == written[1]
    assert written[0].count("\n") == 360


def test_nobody_at_all_is_never_one_of_the_groups_that_are_counted() -> None:
    for drawn in draws("reasoning", "guests"):  # readers differ on whether no guests are a group of guests
        assert "At least one of" in drawn.slots["clues"] or "but not both" in drawn.slots["clues"]


def test_who_says_or_says_whether_both_are_meant() -> None:
    for drawn in draws("reasoning", "knights"):
        assert drawn.slots["clues"].count("is lying, or") == drawn.slots["clues"].count("or both are")


def test_a_quantity_that_goes_on_from_the_answer_is_wrong() -> None:
    found = [drawn for drawn in draws("knowledge", "unit") if drawn.answer == "magnetic flux"]
    assert found and all("magnetic flux density" in drawn.wrong for drawn in found)
