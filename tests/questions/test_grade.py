"""Answers in words: what is right, and what only looks right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        (RACE, "Clara, not Ada."), (RACE, "Ada, Ben, Clara and Dan ran a race. Who won? Clara."), (SYMBOL, "He"),
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
        (SUM, None, "there is no answer"),
        (SUM, " \n", "there is no answer"),
        (SUM, "What is `37 * 41 + 5`?", "the answer repeats the question and adds nothing"),
        (SUM, "37 * 41 + 5", "the answer does not say 1522"),
        (SUM, "1517 or 1522", "the answer gives something beside 1522"),
        (SUM, "one or 1522", "the answer gives something beside 1522"),
        (SUM, "1522 = 1523", "the answer says 1523, not 1522"),
        (RACE, "Clara won. So Ada.", "the answer says Ada"),
        (RACE, "So Clara won. Or it was Ada.", "the answer says Ada"),
        (SUM, "So 1522. So 1523.", "the answer says 1523 as well, not 1522 alone"),
        (RACE, "Ada was second. Therefore perhaps Clara.", "the answer is in doubt: 'perhaps'"),
        (SUM, "So it is not 1522.", "the answer does not say 1522"),
        (SUM, "Is it 1522?", "the answer does not say 1522"),
        (RACE, "Was it Clara?", "the answer does not say Clara"),
        (SUM, "1520 1521 1522 1523", "the answer says 1520 and 1521 and 1523 as well, not 1522 alone"),
        (SUM, "The answer is 1522 or 1523.", "the answer gives something beside 1522"),
        (SUM, "The answer is 1523. The answer is 1522.", "the answer says 1523 as well, not 1522 alone"),
        (SUM, "It is 1522. It is 1523.", "the answer says 1523 as well, not 1522 alone"),
        (SUM, "\\boxed{1522} \\boxed{1517}", "the answer says 1517 as well, not 1522 alone"),
        (SUM, "Maybe 1522.", "the answer is in doubt: 'maybe'"),
        (SUM, "I do not know, perhaps the answer is 1522.", "the answer is in doubt: 'do not know'"),
        (SUM, "It is not 1522.", "the answer does not say 1522"),
        (SUM, "The answer is not 1522.", "the answer does not say 1522"),
        (SUM, "15221", "the answer says 15221, not 1522"),
        (SUM, "1522.5", "the answer says 1522.5, not 1522"),
        (SUM, "-1522", "the answer says -1522, not 1522"),
        (SUM, "1522/2", "the answer says 761, not 1522"),
        (SUM, "1522,000", "the answer does not say 1522"),
        (SUM, "x1522", "the answer does not say 1522"),
        (SUM, "x" * 20_001, "the answer has 20001 characters, more than the 20000 that are read"),
        (SMALL, "21", "the answer says 21, not -21"),
        (SHARE, "1226", "the answer says 1226, not 1225.9"),
        (SHARE, "1/0", "the answer does not say 1225.9"),
        (RACE, "Ada", "the answer says Ada"),
        (RACE, "Clara or Ada", "the answer gives something beside Clara"),
        (RACE, "Ada, Ben, Clara, Dan", "the answer says Ada and Ben and Dan"),
        (RACE, "Clara / Egon", "the answer gives something beside Clara"),
        (RACE, "Egon or Clara", "the answer gives something beside Clara"),
        (RACE, "It was not Clara.", "the answer does not say Clara"),
        (RACE, "Claras", "the answer does not say Clara"),
        (RACE, "Either Clara, I say.", "the answer is in doubt: 'either'"),
        (SYMBOL, "he", "the answer does not say He"),
        (SYMBOL, "I think he is right.", "the answer does not say He"),
        (SYMBOL, "Ne", "the answer says Ne"),
        (CITY, "Rio, Bahia, Brasilia, Recife", "the answer gives something beside Brasilia"),
        (CITY, "rio, bahia\nbrasilia\nrecife", "the answer is a list"),
        (CITY, "The answer is Brasilia and Rio.", "the answer gives something beside Brasilia"),
        (CITY, "Brasilia, Rio", "the answer gives something beside Brasilia"),
        (IODINE, "I could not find the answer.", "the answer does not say I"),
        (IODINE, "I'm sorry, I have none.", "the answer does not say I"),
        (CESIUM, "The answer is Cs or As.", "the answer gives something beside Cs"),
        (CHOICE, "A look at it tells nothing.", "the answer does not say A"),
        (FLUX, "magnetic flux density", "the answer says magnetic flux density"),
        (CHOICE, "B", "the answer says B"),
        (CHOICE, "A or B", "the answer gives something beside A"),
    ],
)
def test_wrong_answers(question: Question, text: str | None, finding: str) -> None:
    assert grade_answer(question, text) == (
        False,
        finding.replace("'maybe'", "'Maybe'").replace("'either'", "'Either'"),
    )


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("The answer is 42 million.", "the answer says 42000000, not 42"),
        ("42 thousand", "the answer says 42000, not 42"),
        ("forty-two million", "the answer says 42000000, not 42"),
        ("42 or 42 million", "the answer gives something beside 42"),
        ("- 42", "the answer says -42, not 42"), ("The answer is - 42.", "the answer says -42, not 42"),
        ("negative 42", "the answer says -42, not 42"),
        *((text, "the answer gives no more than something about 42") for text in (
            "less than 42", "more than 42", "fewer than 42", "at least 42", "at most 42", "42 at most", "42+",
            "over 42", "just under 42", "up to 42", "about 42", "around 42", "nearly 42", "almost 42", "close to 42",
            "~42", "x <= 42", "\u2248 42", "\u00b1 42", "So it is about 42.", "about **42**", "the square root of 42",
            "$\\sqrt{42}$", "twice 42", "half of 42", "42 squared", "6 * 42", "42 plus 6", "42 + 6", "42 and a half",
            "one more than 42", "the number after 42",
        )),
        *((text, "the answer does not say 42") for text in (
            "anything but 42", "any number but 42", "everything except 42", "It is false that the answer is 42.",
            "It is not true that the answer is 42.", "The wrong answer is 42.", "Most doubt that the answer is 42.",
            "I do not think the answer is 42.", "42 is wrong.", "42 is not the answer.", "42 isn't right.",
            "42 (wrong)", "The answer is 42, which is wrong.", "The answer is 42. No, that is false.",
            "The answer 42 is incorrect.", "x != 42", "x \u2260 42", "It is false that x = 42",
        )),
        ("Probably 42.", "the answer is in doubt: 'Probably'"),
        ("I doubt that the answer is 42.", "the answer is in doubt: 'I doubt'"),
    ],
)  # fmt: skip
def test_a_number_in_doubt_or_denied_or_changed_is_no_answer(text: str, finding: str) -> None:
    assert grade_answer(SEVENS, text) == (False, finding)


@pytest.mark.parametrize(
    "text",
    [
        "6 * 7 = 42",
        "50 - 8 = 42",
        "6 times 7 equals 42.",
        "Answer - 42",
        "=> 42",
        "<answer>42</answer>",
        "It is 42, not 43.",
        "41 is wrong; it is 42.",
        "It is false that the answer is 41. The answer is 42.",
        "42 is the answer; 41 would be wrong.",
        "There is no doubt that it is 42.",
        "What remains after that is 42.",
        "It stops after 42 steps.",
        "Exactly 42.",
        "42 (forty-two)",
        "It appears 42 times.",
        "That makes a product of 42.",
        "It is at least 40. The answer is 42.",
        "It is about 42, and the answer is 42.",
    ],
)
def test_words_about_other_things_leave_a_number_right(text: str) -> None:
    assert grade_answer(SEVENS, text) == (True, "the answer is 42")


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("The answer is Madrid, Paris", "the answer gives something beside Paris"),
        ("Madrid, Paris", "the answer gives something beside Paris"),
        ("It is Madrid and Paris.", "the answer gives something beside Paris"),
        ("Madrid; Paris", "the answer gives something beside Paris"),
        *(
            (text, "the answer does not say Paris")
            for text in (
                "a city other than Paris",
                "any city except Paris",
                "anything but Paris",
                "Paris is wrong.",
                "Paris isn't right.",
                "Paris (wrong)",
                "It is false that Paris is the capital.",
                "It is incorrect to say that it is Paris.",
                "a town near Paris",
            )
        ),
    ],
)
def test_a_name_that_is_denied_or_one_of_two_is_no_answer(text: str, finding: str) -> None:
    assert grade_answer(FRANCE, text) == (False, finding)


@pytest.mark.parametrize(
    "text",
    [
        "Yes, Paris.",
        "Clearly, Paris",
        "In France, Paris",
        "France, Paris",
        "None other than Paris.",
        "Lyon is wrong; it is Paris.",
        "Paris is correct.",
        "The answer is Paris. Lyon would be wrong.",
        "Paris, a city of over 2 million, is the capital.",
        "There is no doubt that Paris is the capital.",
    ],
)
def test_words_about_other_things_leave_a_name_right(text: str) -> None:
    assert grade_answer(FRANCE, text) == (True, "the answer is Paris")


def test_the_day_after_another_is_another_day() -> None:
    assert grade_answer(DAY, "the day after Monday") == (False, "the answer does not say Monday")
    assert grade_answer(DAY, "14 days after Monday it is Monday.")[0]


@pytest.mark.parametrize("category", sorted(TEMPLATES))
def test_generated_questions_may_have_words_of_doubt_and_their_answers_stay_right(category: str) -> None:
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
    assert not grade_answer(one, "; ".join((*one.wrong, one.answer)))[0]


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


@given(st.text())
def test_any_text_is_graded(text: str) -> None:
    assert all(isinstance(grade_answer(one, text)[1], str) for one in (SUM, SHARE, RACE, CHOICE))
