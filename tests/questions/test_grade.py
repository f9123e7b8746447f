"""Answers in words: what is right, and what only looks right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolscale.questions.facts import COUNTRIES
from toolscale.questions.generate import TEMPLATES, answer_key, question
from toolscale.questions.grade import grade_answer
from toolscale.records import Question


def asked(text: str, answer: str, kind: str, *wrong: str, accepted: tuple[str, ...] = ()) -> Question:
    return Question(
        id="q",
        category="arithmetic",
        text=text,
        answer=answer,
        answer_kind=kind,
        accepted=accepted,
        wrong=wrong,
        source="test",
    )


SUM = asked("What is `37 * 41 + 5`?", "1522", "integer", "1517", "1523", accepted=("1,522",))
SMALL = asked("How many zeros does it end with?", "-21", "integer", "21")
SHARE = asked("How much is 13 percent of 9430?", "1225.9", "decimal", "1226.9")
RACE = asked("Ada, Ben, Clara and Dan ran a race. Who won?", "Clara", "word", "Ada", "Ben", "Dan")
SYMBOL = asked("What is the chemical symbol of helium?", "He", "word", "H", "Ne")
CAPITAL = asked("What is the capital of Chad?", "N'Djamena", "word", "Bamako", "Berlin")
CITY = asked("What is the capital of Brazil?", "Brasilia", "word", "Lima", "La Paz")
FLUX = asked("What does the weber measure?", "magnetic flux", "word", "magnetic flux density", "force")
IODINE = asked("Which chemical symbol does iodine have?", "I", "word", "In", "Be")
CESIUM = asked("Which chemical symbol does caesium have?", "Cs", "word", "I", "In", "Al")
WEIGHT = asked('How many grams does the "Selorlite 407" weigh?', "7908", "integer", "7254")
SEVENS = asked("What is six times seven?", "42", "integer", "41", "43")
FRANCE = asked("What is the capital of France?", "Paris", "word", "Lyon", "Rome")
DAY = asked("If 3 May is a Monday, which day of the week is it 14 days later?", "Monday", "word", "Tuesday", "Sunday")
CHOICE = asked("Which is a metal? A) iron B) sulfur", "A", "choice", "B", accepted=("iron",))


def prefix(name: str, power: int) -> Question:
    return asked(f"Which power of ten does {name} stand for?", str(power), "integer", str(-power))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (SUM, "1522"), (SUM, "1,522."), (SUM, "The answer is 1522."), (SUM, "It is **1522**."),
        (SUM, "37 * 41 + 5 = 1522"), (SUM, "37 * 41 is 1517, and 5 more make 1522. The answer is 1522."),
        (SUM, "The answer is 1522, because 37 * 41 = 1517."),
        (SUM, "First 37 * 41 = 1517.\nThen 1517 + 5 = 1522.\n\n\\boxed{1522}"),
        (SUM, "What is `37 * 41 + 5`? It is 1522."), (SUM, "Not 1517 but 1522."),
        (SUM, "one thousand five hundred and twenty-two"), (SUM, "1522.0"), (SUM, "Answer: 1522"),
        (SUM, "We get 1517 first.\n**1522**"), (SUM, "$1522$"), (SUM, "**Answer:** 1522"),
        (SUM, "There is only one way: 1522."), (SUM, "The answer is 1522. So:\n\n**Final answer: 1522**"),
        (SUM, "37 * 41 = 1517\n1517 + 5 = 1522"),
        (RACE, "Ada was second, and Ben was not first. Therefore, Clara won."), (RACE, "So Clara."),
        (RACE, "The answer is Clara. **Answer:** *Clara*"), (SMALL, "-21"), (SMALL, "The exponent is −21."),
        (SHARE, "1225.9"), (SHARE, "1,225.90"), (SHARE, "13 percent of 9430 is 1225.9."), (SHARE, "12259/10"),
        (RACE, "Clara"), (RACE, "clara won."), (RACE, "The answer is Clara, since Ada was second and Ben fell."),
        (RACE, "Ada, Ben, Clara and Dan ran a race. Who won? Clara."), (SYMBOL, "He"),
        (SYMBOL, "The symbol is He."), (CAPITAL, "N’Djamena"), (CITY, "Brasília"),
        (CITY, "It is Brasilia, in the federal district."), (FLUX, "It measures magnetic flux."), (CHOICE, "A"),
        (CHOICE, "A) iron"), (CHOICE, "iron"), (IODINE, "I"), (IODINE, "The symbol is I."),
        (IODINE, "I is the symbol of iodine."), (IODINE, "It is 'I'."), (CESIUM, "I think it is Cs."),
        (CESIUM, "In chemistry, caesium is Cs."), (CITY, "Brasilia, Brazil."), (CITY, "Brasilia, I think."),
        (CITY, "Brasilia and nothing else."), (SMALL, "minus 21"), (SMALL, "The answer is minus twenty-one."),
        (WEIGHT, "It weighs 7908g."), (WEIGHT, "20000 minus 12092 = 7908"),
    ],
)  # fmt: skip
def test_right_answers(question: Question, text: str) -> None:
    assert grade_answer(question, text) == (True, f"the answer is {question.answer}")


@pytest.mark.parametrize(
    ("question", "text", "finding"),
    [
        (SUM, None, "there is no answer"), (SUM, " \n", "there is no answer"),
        (SUM, "What is `37 * 41 + 5`?", "the answer does not say 1522"),
        (SUM, "37 * 41 + 5", "the answer does not say 1522"), (SUM, "1522 = 1523", "the answer says 1523"),
        (SUM, "It is 1522. It is 1523.", "the answer says 1523"), (SUM, "15221", "the answer says 15221"),
        (SUM, "The answer is 1522. The answer is 1523.", "the answer says 1523"),
        (SUM, "\\boxed{1522} \\boxed{1517}", "the answer says 1517"), (SUM, "1522.5", "the answer says 1522.5"),
        (SUM, "-1522", "the answer says -1522"), (SUM, "1522/2", "the answer says 761"),
        (SUM, "1522,000", "the answer does not say 1522"), (SUM, "1522 million", "the answer does not say 1522"),
        (SUM, "x1522", "the answer does not say 1522"),
        (SUM, "x" * 20_001, "the answer has 20001 characters, more than the 20000 that are read"),
        (SMALL, "21", "the answer says 21"), (SHARE, "1226", "the answer says 1226"),
        (SHARE, "1/0", "the answer does not say 1225.9"), (RACE, "Ada", "the answer says Ada"),
        (RACE, "Clara won. So Ada.", "the answer says Ada"), (RACE, "Ada, Ben, Clara, Dan", "the answer says Dan"),
        (RACE, "Claras", "the answer does not say Clara"), (SYMBOL, "he", "the answer does not say He"),
        (SYMBOL, "I think he is right.", "the answer does not say He"), (SYMBOL, "Ne", "the answer says Ne"),
        (IODINE, "I could not find the answer.", "the answer does not say I"),
        (IODINE, "I'm sorry, I have none.", "the answer does not say I"),
        (CHOICE, "A look at it tells nothing.", "the answer does not say A"), (CHOICE, "B", "the answer says B"),
        (FLUX, "magnetic flux density", "the answer says magnetic flux density"),
        (CHOICE, "A or B", "the answer says B"), (SUM, "9" * 5_000, "the answer does not say 1522"),
        (FRANCE, "Madrid, Paris", "the answer says Madrid"), (FRANCE, "Paris, or Rome.", "the answer says Rome"),
        (prefix("milli", -3), "10^3", "the answer says 3"), (prefix("milli", -3), "0.001", "the answer says 0.001"),
    ],
)  # fmt: skip
def test_wrong_answers(question: Question, text: str | None, finding: str) -> None:
    assert grade_answer(question, text) == (False, finding)


def test_a_name_that_the_question_does_not_give_is_wrong_wherever_it_stands() -> None:
    """Else a list of all capitals would be right now and then."""
    capitals = [capital for *_, capital in COUNTRIES if capital != "Paris"]
    assert not any(grade_answer(FRANCE, f"{', '.join(capitals[:n])}, Paris")[0] for n in range(1, len(capitals)))
    assert grade_answer(FRANCE, "Paris, in Europe.") == (True, "the answer is Paris")


@pytest.mark.parametrize("text", ["Maybe 42.", "It is not 42.", "at least 42", "1523 or 42", "The answer is not 42."])
def test_doubt_and_denial_are_not_read(text: str) -> None:
    assert grade_answer(SEVENS, text) == (True, "the answer is 42")


@pytest.mark.parametrize("written", ["{}", "10^{}", "10**{}", "10^({})", "$10^{{{}}}$", "The exponent is {}."])
def test_a_power_of_ten_gives_its_exponent(written: str) -> None:
    for name, power in (("milli", -3), ("kilo", 3), ("exa", 18)):
        assert grade_answer(prefix(name, power), written.format(power)) == (True, f"the answer is {power}")
    assert grade_answer(prefix("milli", -3), "10⁻³") == (True, "the answer is -3")


@pytest.mark.parametrize("category", sorted(TEMPLATES))
def test_generated_questions_may_be_repeated_before_their_answers(category: str) -> None:
    shapes = ("{} {}", "{}\nThe answer is {}.", "{}\n\n**{}**", "{} So it is {}, I think.")
    every = [question(number, 11, "train" if number % 2 else "test", [category]) for number in range(60)]
    wrong = [
        (one.text, shape)
        for one in every
        for shape in shapes
        if not grade_answer(one, shape.format(one.text, one.answer))[0]
    ]
    assert wrong == []


@given(st.integers(0, 10**6), st.integers(0, 5), st.sampled_from(sorted(TEMPLATES)), st.sampled_from(["train", "test"]))
def test_what_an_expert_plays_is_graded_as_it_is_meant(number: int, seed: int, category: str, split: str) -> None:
    one = question(number, seed, split, [category])  # type: ignore[arg-type]
    key = answer_key(one)
    for shape in ("{}", "The answer is {}.", "Answer: {}", "It is {}."):
        assert grade_answer(one, shape.format(key.right.answer))[0], (one, shape)
        assert not any(grade_answer(one, shape.format(wrong.answer))[0] for wrong in key.wrong), (one, shape)
    assert all(grade_answer(one, form)[0] for form in one.accepted)
    assert not grade_answer(one, " or ".join((one.answer, *one.wrong)))[0]


def test_a_long_answer_is_read_quickly_enough_to_be_read() -> None:
    # Each of these once took seconds: what follows every announcement was read to the end of the text.
    for text in ("the answer is " * 1_400, "a or " * 4_000, "1, " * 6_000, "**" * 9_000, "not " * 5_000):
        assert grade_answer(SUM, text)[0] is False
    for text in (
        "1522 " * 4_000,
        "1522 - " * 2_500,
        "1522 is not " * 1_600,
        "it is false that 1522 " * 900,
        "Ada, " * 4_000,
    ):
        assert grade_answer(SUM, text)[1] and grade_answer(RACE, text)[1]


@given(st.text() | st.text("PparıİſsK⁻³19,./ "))
def test_any_text_is_graded(text: str) -> None:
    assert all(isinstance(grade_answer(one, text)[1], str) for one in (SUM, SHARE, RACE, CHOICE, FRANCE))


SHAPES = (
    "{}", "{}.", "It's {}.", "It is {}, I believe.", "I get {}.", "My answer: {}", "Answer: **{}**", "**{}**",
    "The answer is {}.", "The answer is `{}`.", "The final answer is: {}", "Final answer: {}", "\\boxed{{{}}}",
    "$\\boxed{{{}}}$", "I asked an expert, and the answer is {}.", "So the answer is {}.",
    "Here is what I found:\n\n- {}", "Result:\n{}", "After checking twice: {}", "The expert replied: {}",
    "Sure! The answer is {}.", "That would be {}.", "Without a doubt, it is {}.",
    "This looked hard at first. It turns out to be {}.", "I worked it out step by step. The result is {}.", "Yes, {}.",
    "Clearly, {}.", "Hence {}.", "It must be {}.", "The tool was denied, so I did it myself. The answer is {}.",
)  # fmt: skip


@pytest.mark.parametrize("category", sorted(TEMPLATES))
def test_thirty_ways_to_word_a_right_answer_to_generated_questions(category: str) -> None:
    every = [question(number, 5, "train" if number % 2 else "test", [category]) for number in range(40)]
    refused = [
        (one.text, shape.format(one.answer))
        for one in every
        for shape in SHAPES
        if not grade_answer(one, shape.format(one.answer))[0]
    ]
    assert len(SHAPES) == 30 and refused == []


WORDED = {
    "arithmetic": {
        0: "431 times 76 is 32756, and 65338 minus 32756 is 32582.\n\n**32582**",
        1: "42 cubed is 74088; less 1739 that makes 72349. So the answer is 72349.",
        2: "The squares in that range add up to 81,375.",
        3: "294 * 92 = 27048\n27048 + 466 = 27514",
        5: "19 percent of 7283 is 1383.77.",
        10: "The shop has 10544 bottles left over.",
    },
    "code": {
        0: "The loop stops after 11 steps, so Python prints 11.",
        1: "The program prints `84`.",
        2: "The range goes up to 338 and holds 37 numbers.",
        3: "It sums up the first six, which gives 173.",
        4: "Output:\n```\n177\n```",
        8: "It prints 44.",
    },
    "knowledge": {
        0: "White means 9.",
        1: "Senegal's country code is SN.",
        2: "In ASCII, the left parenthesis has code 40.",
        9: "It is the letter A.",
        10: "Al is the symbol of aluminium (aluminum).",
        12: "Lambda is the 11th letter: 11",
    },
    "lookup": {
        0: "The Seladmeter 373 is made by Ostaline.",
        1: "Baladsa Felormond was born in 1765.",
        2: "Peladminster lies on the Selibrook.",
        3: "Marandale has 38,582 inhabitants.",
        4: "It has 31262 employees, according to the records.",
        8: "Inventor: Garido Rasomond",
    },
    "mathematics": {
        0: "The smallest possible number is 81.",
        1: "10584 has 48 divisors.",
        2: "The remainder is 26.",
        5: "There are 41 zeros at the end.",
        7: "Multiplying both counts gives 990 paths.",
        12: "The letters can be arranged in 180 ways.",
    },
    "reasoning": {
        0: "There are 6 possible groups.",
        1: "Dan came in fifth.",
        2: "The cat is Rosa's. The answer is Rosa.",
        5: "Ada now faces west.",
        9: "Going 618 days on, it is a Friday.",
        7: "Sam is the liar.",
    },
}


@pytest.mark.parametrize(
    ("category", "number"), [(category, number) for category, texts in WORDED.items() for number in texts]
)
def test_answers_worded_by_hand(category: str, number: int) -> None:
    one = question(number, 1, "train", [category])
    assert grade_answer(one, WORDED[category][number]) == (True, f"the answer is {one.answer}")
