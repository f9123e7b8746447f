"""Right answers as people word them, and wrong ones that look like them."""

from __future__ import annotations

import pytest

from toolscale.questions.generate import TEMPLATES, question
from toolscale.questions.grade import grade_answer
from toolscale.records import Question

MILLI = question(42, 1, "train", ["knowledge"])
BOTTLES = question(10, 1, "train", ["arithmetic"])
LOOP = question(0, 1, "train", ["code"])
RANGE = question(2, 1, "train", ["code"])
LIAR = question(7, 1, "train", ["reasoning"])
DAY = question(9, 1, "train", ["reasoning"])
PERCENT = BOTTLES.model_copy(
    update={"text": "How much is 15 percent of 4104?", "answer": "615.6", "answer_kind": "decimal", "accepted": ()}
)
CAPITAL = MILLI.model_copy(
    update={
        "text": "What is the capital of Moldova?",
        "answer": "Chisinau",
        "answer_kind": "word",
        "wrong": ("Athens", "Oslo", "Kyiv", "Lome"),
    }
)


def prefix(
    name: str, power: int, text: str = "Which power of ten does the metric prefix {} stand for? Give the exponent."
) -> Question:
    return MILLI.model_copy(update={"text": text.format(name), "answer": str(power), "wrong": ()})


def is_right(question: Question, text: str) -> bool:
    return grade_answer(question, text)[0]


@pytest.mark.parametrize(
    "one", [prefix("milli", -3), MILLI, prefix("milli", -3, "What is the exponent of ten for the metric prefix {}?")]
)
@pytest.mark.parametrize(
    "text",
    [
        "ten to the power of -3",
        "Milli means ten to the power of -3.",
        "10^-3",
        "10**-3",
        "The answer is 10^-3.",
        "10^(-3)",
        "$10^{-3}$",
        "10⁻³",
        "Milli means 10 to the power of minus three.",
        "milli = 10^-3 = 0.001",
        "The exponent is -3 (10^-3 = 0.001).",
        "-3",
        "So it is **10^-3**.",
        "1 x 10^-3",
        "milli is 0.001, or 10^-3",
        "Milli is 10 to the -3, or 0.001.",
        "The exponent of ten is -3.",
        "Milli stands for a factor of 10^-3, that is, 1/1000.",
    ],
)
def test_a_power_of_ten_gives_its_exponent(one: Question, text: str) -> None:
    assert one.answer == "-3" and grade_answer(one, text) == (True, "the answer is -3")


def test_powers_of_other_prefixes_give_their_exponents_too() -> None:
    for name, power in (("kilo", 3), ("giga", 9), ("deca", 1), ("exa", 18)):
        for text in (
            "10^{}",
            "ten to the power of {}",
            "The answer is 10^{}.",
            "10**{}",
            "10 to the {}th power",
            f"10^{{}} = {10**power:,}",
        ):
            assert is_right(prefix(name, power), text.format(power)), (name, text)


def test_the_wrong_power_or_the_power_itself_is_no_exponent() -> None:
    assert not any(
        is_right(prefix("milli", -3), text)
        for text in ("10^3", "ten to the power of 3", "0.001", "10^-6", "10", "The answer is 0.001.")
    )
    assert not any(
        is_right(prefix("deca", 1), text) for text in ("10", "The answer is 10.", "ten", "10^2", "about 10^1")
    )
    assert not is_right(BOTTLES, "10^10544") and not is_right(BOTTLES, "10544^2") and not is_right(BOTTLES, "10544²")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (BOTTLES, "The numbers add up to 10544."),
        (BOTTLES, "It sums up to 10544 pens."),
        (BOTTLES, "There are left over 10544 bottles."),
        (BOTTLES, "none other than 10544"),
        (RANGE, "It counts up to 37 numbers."),
        (RANGE, "The loop goes over 37 numbers."),
        (BOTTLES, "Here is the answer:\n- 10544"),
        (BOTTLES, "The answer is:\n\n- 10544"),
        (BOTTLES, "Result:\n* 10544"),
        (BOTTLES, "Final result (exact) **10544**"),
        (BOTTLES, "10544\n- 425 boxes"),
        (BOTTLES, "10544\n* 425 boxes"),
        (BOTTLES, "- 425 boxes of 25\n- less 81 gives 10544"),
        (BOTTLES, "Bottles (exact) *10544*"),
        (BOTTLES, "Number of bottles times\n10544"),
        (BOTTLES, "Python was denied so I worked it out by hand and got 10544."),
        (BOTTLES, "To remove doubt I recomputed it and got 10544."),
        (PERCENT, "I don't doubt that it's 615.6."),
        (PERCENT, "I do not doubt it is 615.6."),
        (LIAR, "The answer is Sam. It is false that Vera is lying."),
        (LIAR, "Sam. It is not true that all lie."),
        (LIAR, "It is false that all lie, so Sam does."),
        (LIAR, "What he says is false: Sam."),
        (LOOP, "Python exits the loop after 11 iterations."),
        (LOOP, "It ends the loop after 11 steps."),
        (LOOP, "It prints the number after 11 steps."),
        (DAY, "Hmm, Friday."),
        (DAY, "Easy, Friday."),
        (DAY, "Great, Friday."),
        (DAY, "Answer, Friday"),
        (CAPITAL, "Thanks, Chisinau."),
        (CAPITAL, "Eastern Europe, Chisinau."),
        (BOTTLES, "This is probably a trick question. The answer is 10544."),
        (BOTTLES, "This was presumably meant to be worked out. It is 10544."),
        (BOTTLES, "I guess you want the rest. So it is 10544."),
    ],
)
def test_words_and_marks_beside_a_right_answer_leave_it_right(question: Question, text: str) -> None:
    assert grade_answer(question, text) == (True, f"the answer is {question.answer}")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (BOTTLES, "up to 10544"),
        (BOTTLES, "It is up to 10544."),
        (BOTTLES, "any number other than 10544"),
        (BOTTLES, "- 10544"),
        (BOTTLES, "wrong: 10544"),
        (BOTTLES, "2**10544"),
        (BOTTLES, "10544 - 81"),
        (BOTTLES, "There are over 10544 bottles."),
        (BOTTLES, "I doubt it is 10544."),
        (BOTTLES, "The answer is 10544, I guess."),
        (BOTTLES, "Probably the answer is 10544."),
        (BOTTLES, "It is hard. It is presumably 10544."),
        (BOTTLES, "I guess it is x = 10544"),
        (LIAR, "It is false that Sam is lying."),
        (LIAR, "It is not true that the liar is Sam."),
        (LIAR, "The answer is Sam. That is not true."),
        (LOOP, "the number after 11"),
        (DAY, "Monday, Friday"),
        (DAY, "The answer is Monday, Friday"),
        (CAPITAL, "Madrid, Chisinau"),
        (CAPITAL, "It is Madrid and Chisinau."),
        (CAPITAL, "The answer is Rio, Chisinau"),
        (CAPITAL, "a city other than Chisinau"),
    ],
)
def test_wrong_answers_that_look_like_those_stay_wrong(question: Question, text: str) -> None:
    assert not is_right(question, text)


def test_a_long_question_is_looked_through_once() -> None:
    # It was begun anew at each of its places: an hour and more for this one.
    asked = LOOP.model_copy(update={"text": "Which power is it? " + "There are ways and more ways to go. " * 10_000})
    assert grade_answer(asked, f"The answer is {asked.answer}.")[0]


def test_long_answers_to_questions_of_powers_are_read_quickly() -> None:
    for text in (
        "1000 " * 4_000,
        "10^" * 6_000,
        "*3 " * 6_000,
        "\n- 3" * 5_000,
        "10 to the " * 2_000,
        "I guess. " * 2_000,
        "*" * 20_000,
    ):
        assert grade_answer(prefix("kilo", 3), text)[1]


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
        if not is_right(one, shape.format(one.answer))
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
