"""Whether an answer in words is right: the final answer must be stated, once, and not be contradicted.

How a text is read: the question, if it is repeated word for word, is taken out. If the text announces its answer (`the
answer is ..`, `answer: ..`, `\\boxed{..}`, `**..**`), only what follows counts, up to the end of the sentence or a
reason (`because ..`); if it ends with `= ..` or with a conclusion (`so ..`, `therefore ..`), only that. Else the whole
text counts, and then what it mentions must be the answer alone; numbers that the question gives may be repeated. Two
answers, an answer in doubt or a denied one are wrong, and so is one that is only a bound (`at least 42`), nearly it
(`about 42`) or what something else is made of (`the square root of 42`, `42 + 5`). `42 million` and `- 42` are numbers
of their own. Bullets and bold type are no operators. Where a power of ten is asked, `10^3`, `ten to the power of 3` and
`10^3 = 1000` give the exponent. The word `one` is a number only where the answer is 1.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from fractions import Fraction

from toolscale.language.numerals import NUMBER_WORDS_PATTERN, parse_number_words
from toolscale.patterns import regex
from toolscale.questions.conclusion import DISBELIEVED, DOUBT, DOUBTED, SENTENCES, TAKEN_BACK, part_told, words_before
from toolscale.questions.facts import COUNTRIES, ELEMENTS, NATO
from toolscale.records import Question

LONGEST = 20_000
"""Characters of an answer; a longer one is not read."""
TOLERANCE = Fraction(1, 10**6)
"""How far a decimal may be off, relative to the answer."""

_NUMBER = regex(
    r"(?P<minus>(?<!\d )(?<!\) )(?<!non-)\b(?:minus|negative)\s+)?(?:"
    r"(?P<digits>(?<![\w.])(?<!\d,)[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)"
    r"(?:\.\d+)?(?:\s?/\s?\d+)?(?!\d|,\d{3}\b|(?!g\b)[a-z]))"
    rf"|\b(?P<words>{NUMBER_WORDS_PATTERN})\b)(?:[ -](?P<scale>hundred|thousand|million|billion|trillion|dozen)s?\b)?"
)
_SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12}
_SPACED_MINUS = regex(r"(?:^|[=:(]|\b(?:is|was|be|are|equals|gives?|get)) *- +$")
"""What stands before a number with a sign and a space: `- 42`, `is - 42`, but neither `50 - 42` nor `Answer - 42`."""
_BULLET = regex(r"\n[-*+] +")
_EMPHASIS = regex(r"(?<![\w)*])(\*{1,3})(?=[^\s*])([^*\n]*[^\s*])\1(?![\w*])")
_SUPERSCRIPT = regex("[\u207a\u207b\u2070\u00b9\u00b2\u00b3\u2074-\u2079]+")
_POWER_ASKED = regex(
    r"\b(?:which power|exponent) of (?:ten|10)\b|\b(?:ten|10) to the power of what\b"
    r"|\A(?=.*\b(?:exponents?|powers?|ten|10)\b).*\bprefix(?:es)?\b",
    re.IGNORECASE | re.DOTALL,
)
_BASE = regex(
    r"(?:\b1 ?[x*\u00d7] ?)?\b(?:10|ten)(?:\s+(?:raised\s+)?to\s+the\s+(?:power\s+(?:of\s+)?)?| ?(?:\^|\*\*) ?)[{(]?",
    re.IGNORECASE,
)
_LINK = regex(r"(?:\s*(?:=|\(|,?\s*\bor))?\s*$")
_DENIED = regex(
    r"(?:(?:\bnot|n't|\bnever|\bneither|\bnor|\brather\s+than|\binstead\s+of|\bno)\s+"
    r"(?:(?!(?:but|doubt)\b)\w+\s+){0,2}|!=\s*"
    r"|(?:(?<!\bnone )(?<!\bone )(?<!nobody )(?<!nothing )\b(?:other\s+than|except(?:\s+for)?|apart\s+from|besides)"
    r"|\b(?:any(?:thing|one|body|where)?|every(?:thing|one|body|where)|all)(?:\s+\w+)?\s+but"
    r"|\bexcluding|\bdifferent\s+from|\bunlike|\bfar\s+from)\s+"
    r"(?:(?:the|an?|number|value|answer|city|town)\s+){0,2})[\"'`*(]*$",
    re.IGNORECASE,
)
_BETWEEN = r" *(?:(?:the|a|just|only|exactly|number|year|value) +){0,3}[\"'`*($]*$"
_BOUND = regex(
    r"(?:\b(?:about|(?<!goes )(?<!go )(?<!went )around|circa|ca\.?|approx\.?|nearly|almost|near"
    r"|close\s+to|before|at\s+(?:least|most)"
    r"|(?:more|less|fewer|greater|larger|smaller|bigger|higher|lower|later|earlier"
    r"|(?<!none )(?<!nothing )(?<!no )other)\s+than"
    r"|as\s+(?:many|much|few|little)\s+as|(?:minimum|maximum)\s+of)\b\.?"
    r"|[~\u2248\u2264\u2265\u00b1]|(?<=[\w)] )[<>]=?|(?<![^\s(])[<>]=?(?!\s)"
    r"|(?:^|[=:,.(*\n]|\b(?:is|was|are|were|be|has|have|had|weighs?|employs?|gives?|prints?"
    r"|just|well|slightly|number|value|something|anything)\b)"
    rf"\s*(?:over|under|above|below|beyond|up\s+to|exceed(?:s|ing)?)\b){_BETWEEN}",
    re.IGNORECASE,
)
"""`over` and the like are bounds only where a number may stand: neither `left over 42` nor `add up to 42` nor `loops
over 42` is one."""
_BOUND_AFTER = regex(
    r" *[,(]? *(?:at\s+(?:least|most)\b|more\s+or\s+less\b|give\s+or\s+take\b|and\s+(?:more|up|a\s+half)\b)"
    r"|-ish\b|\+(?!\s?\d)",
    re.IGNORECASE,
)
_PART = regex(
    r"(?:\b(?:roots?|square|cube|half|third|quarter|tenth|double|triple|log(?:arithm)?"
    r"|factorial|reciprocal|inverse|opposite|multiple|divisor"
    r"|factor|power)\s+of|\b(?:half|twice|double|triple|thrice|plus|times|divided\s+by)|\d\s+minus"
    r"|\b(?:sqrt|log|ln|exp|sin|cos|tan)\s*[({]|\u221a"
    rf"|[\d)] ?(?:\*\*?|[+^\u00d7\u00f7]))(?: |(?<=\W)){_BETWEEN}",
    re.IGNORECASE,
)
_PART_AFTER = regex(
    r" +(?:squared|cubed|plus|minus|divided\s+by|times\s+\d|to\s+the\s+(?:\w+\s+)?power)\b"
    r"| ?(?:\*\*? ?|[+^\u00d7\u00f7] ?)\d"
    r"| - \d[\d,.]* *(?:$|[!?;=\n])",
    re.IGNORECASE,
)
_NUMBER_BESIDE = regex(
    r"\b(?:the|a|one) (?:number|value|integer|digit|year) (?:right |just )?(?:before|after) [\"'`*(]*$", re.IGNORECASE
)
"""What stands before a number that is not the answer but beside it, if nothing follows: not `the number after 42
steps`."""
_NO_MORE = regex(r"[\"'`*)]*(?:$|[.,;:!?\n])")
_NEARBY = regex(
    r"\b(?:near(?:ly)?|almost|close\s+to|(?:the|a|one)\s+\w+\s+(?:right\s+|just\s+)?(?:before|after)"
    r"|opposite\s+of)\s+(?:the\s+)?[\"'`*(]*$",
    re.IGNORECASE,
)
"""What stands before a name that is not the answer but beside it: `a town near Paris`, `the day after Monday`."""
_ASKED = regex(r"[^.!?\n]{0,200}\?")
_OR = regex(r"(?:\bor|/)\s*$", re.IGNORECASE)
_OTHERS = regex(r"\s*(?:,?\s*\bor\b|/|\\|;|\bvs\b|\|)\s*\S", re.IGNORECASE)
_NAMES = r"[A-Z][\w'-]*(?: [A-Z][\w'-]*)*"
_AND_MORE = regex(rf"(?:,\s*(?:and\s+)?(?P<name>{_NAMES})|,?\s+and\s+(?P<more>{_NAMES}|[a-z]+))\s*(?=[.!?,;\n]|$)")
"""What stands after an answer and is one more: `Paris, Rome`, `Paris and Rome`."""
_NAMES_BEFORE = regex(
    rf"(?:^|[.!?:\n]|\b(?:is|are|was|be)\b)\s*(?P<names>{_NAMES}(?:[,;]\s*{_NAMES})*)"
    r"(?:[,;]\s*(?:and\s+)?|\s+and\s+|\s*&\s*)[\"'`*(]*$"
)
"""What stands before an answer and is one more: `Madrid, Paris`."""
_OPENERS = frozenset(
    ("after", "ah", "alright", "also", "and", "answer", "as", "at", "based", "because", "but", "by", "correct", "easy",
     "for", "from", "great", "hello", "hence", "here", "hi", "hm", "hmm", "however", "if", "in", "indeed", "it", "now",
     "of", "oh", "ok", "okay", "on", "right", "since", "so", "sure", "thanks", "then", "therefore", "thus", "to",
     "well", "with", "yes"),
)  # fmt: skip
"""Words with which an announced answer may begin: `The answer is: Yes, Paris`."""
_KINDS = tuple(
    frozenset(name.lower() for name in names)
    for names in (
        [capital for *_, capital in COUNTRIES],
        [name for _, name in ELEMENTS],
        [name for _, name in NATO],
        ["north", "east", "south", "west"],
        ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    )
)
"""Names that answer the same question. Before an answer that is not announced only these are one more: not `Hmm,
Friday`, not `Europe, Paris`."""
_WORDS_TOO = frozenset(("I", "A", "Am", "As", "At", "Be", "He", "In", "No"))
"""Letters and symbols of elements that are English words at the beginning of a sentence; `I` is one anywhere."""
_MEANT = regex(r"\s*(?:$|[^\w\s']|'\W|\n|(?:is|stands?|means|or)\b)")
"""What stands after such a letter or symbol if it is not the word: the end, a mark, a verb of its own, `or`."""
_BEGINS = regex(r"(?:^|[.!?:\n])\s*$")


def grade_answer(question: Question, text: str | None) -> tuple[bool, str]:
    """Return whether a final message answers a question rightly, and what was found, in words."""
    if text is None or not text.strip():
        return False, "there is no answer"
    if len(text) > LONGEST:
        return False, f"the answer has {len(text)} characters, more than the {LONGEST} that are read"
    said = _fold(text)
    asked = _fold(question.text)
    said = " ".join(said.split(asked)) if asked in said else said
    said = _without_bullets(said)
    said = _exponents(said, int(question.answer)) if (power := _POWER_ASKED.search(asked) is not None) else said
    told, announced = part_told(said)
    told = _EMPHASIS.sub(r"\2", told)
    if not told.strip():
        return False, "the answer repeats the question and adds nothing"
    if (doubt := DOUBT.search(told) or _doubted(question, told)) is not None:
        return False, f"the answer is in doubt: {doubt[0].strip()!r}"
    if question.answer_kind in ("integer", "decimal"):
        given = set() if announced else {value for value, *_ in _numbers(asked)}
        return _number_finding(question, told, given | {Fraction(10)} if power else given, power)
    return _word_finding(question, told, announced)


def _fold(text: str) -> str:
    """Return a text without accents, with plain quotes, and single spaces within its lines."""
    plain = text
    if not text.isascii():
        plain = _SUPERSCRIPT.sub(lambda raised: f"^{raised[0]}", text.replace("\u2260", "!="))
        plain = "".join(mark for mark in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(mark))
        plain = plain.translate({0x2019: "'", 0x2018: "'", 0x201C: '"', 0x201D: '"', 0x2212: "-", 0x2044: "/"})
    return "\n".join(" ".join(line.split()) for line in plain.splitlines()).strip()


def _without_bullets(said: str) -> str:
    """Return a folded text without the bullets of its lists: no sign crosses a line end. A lone `- 42` keeps its
    sign."""
    plain = _BULLET.sub("\n", said)
    return re.sub(r"^[-*+] +", "", plain) if plain != said else said


def _exponents(said: str, right: int) -> str:
    """Return a text with powers of ten as their exponents: `10^3` and `ten to the power of 3` as `3`, and without the
    power itself: `= 1000`."""
    said = re.sub(r"(\d)(?:st|nd|rd|th)\b", r"\1", _BASE.sub("", said))
    for value, start, end in reversed(_numbers(said)):
        if value == Fraction(10) ** right:
            place = max(0, start - 12)
            said = said[:place] + _LINK.sub("", said[place:start]) + re.sub(r"^,? or\b", "", said[end:])
    return said


def _doubted(question: Question, told: str) -> re.Match[str] | None:
    """Return a word of doubt in a sentence that gives the answer, or that is hardly more than the doubt."""
    forms = [_form(_fold(form)) for form in (question.answer, *question.accepted)]
    for sentence in SENTENCES.split(told):
        doubt = DOUBTED.search(sentence)
        if doubt is not None and (len(sentence.split()) < 4 or any(form.search(sentence) for form in forms)):
            return doubt
    return None


def _numbers(text: str) -> list[tuple[Fraction, int, int]]:
    """Return the numbers of a folded text: value, start, end."""
    found = []
    lower = text.lower()
    for match in _NUMBER.finditer(lower):
        sign = -1 if match["minus"] or _SPACED_MINUS.search(lower, max(0, match.start() - 20), match.start()) else 1
        sign *= _SCALES.get(match["scale"], 1)
        if match["words"] is not None:
            found.append((sign * Fraction(parse_number_words(match["words"])), match.start(), match.end()))
            continue
        above, _, below = match["digits"].replace(",", "").replace(" ", "").partition("/")
        if below and not int(below):
            continue
        found.append((sign * Fraction(above) / (int(below) if below else 1), match.start(), match.end()))
    return found


def _number_finding(question: Question, told: str, given: set[Fraction], power: bool) -> tuple[bool, str]:
    right = Fraction(question.answer.replace(",", ""))
    found = [
        (value, start, end)
        for value, start, end in _numbers(told)
        if (told[start:end].lower() != "one" or right == 1) and not _refused(told, start, end)
    ]
    bounds: set[int] = set()
    for value, start, end in found:
        if not _same(question, value, right):
            continue
        if _beside(told, start, end):
            return False, f"the answer gives something beside {question.answer}"
        if _is_no_value(told, start, end, power):
            bounds.add(start)
    found = [each for each in found if each[1] not in bounds]
    stated = [value for value, *_ in found if not _same(question, value, right)]
    said = len(stated) < len(found)
    others = [value for value in stated if value not in given]
    if others:
        return (
            False,
            f"the answer says {_written(others)}{' as well' if said else ''}, "
            f"not {question.answer}{' alone' if said else ''}",
        )
    if bounds and not said:
        return False, f"the answer gives no more than something about {question.answer}"
    return (True, f"the answer is {question.answer}") if said else (False, f"the answer does not say {question.answer}")


def _refused(told: str, start: int, end: int) -> bool:
    """Whether what stands from start to end is denied, taken back or only asked."""
    before = words_before(told, start)
    return any(
        (_DENIED.search(before), DISBELIEVED.search(before), TAKEN_BACK.match(told, end), _ASKED.match(told, end))
    )


def _is_no_value(told: str, start: int, end: int, power: bool) -> bool:
    """Whether a number is only a bound, nearly right, or part of something that is worked out: of no power if one is
    asked."""
    before, patterns = words_before(told, start), (_BOUND,) if power else (_BOUND, _PART)
    if _NUMBER_BESIDE.search(before) and _NO_MORE.match(told, end):
        return True
    return any(pattern.search(before) for pattern in patterns) or any(
        pattern.match(told, end) for pattern in (_BOUND_AFTER, _PART_AFTER)
    )


def _beside(told: str, start: int, end: int) -> bool:
    """Whether what stands from start to end is one of several, as in `this or that`, `this / that`."""
    return _OTHERS.match(told, end) is not None or _OR.search(words_before(told, start)) is not None


def _same(question: Question, value: Fraction, right: Fraction) -> bool:
    return value == right if question.answer_kind == "integer" else abs(value - right) <= TOLERANCE * abs(right)


def _written(values: Iterable[Fraction]) -> str:
    return " and ".join(f"{float(value):.12g}" for value in dict.fromkeys(values))


def _word_finding(question: Question, told: str, announced: bool) -> tuple[bool, str]:
    right, asked = [_fold(form) for form in (question.answer, *question.accepted)], _fold(question.text)
    wrong = [_fold(form) for form in question.wrong]
    forms = sorted({*right, *wrong}, key=lambda form: (-len(form), form))
    taken: list[tuple[int, int]] = []
    places: list[tuple[int, str]] = []
    for form in forms:
        for match in _form(form).finditer(told):
            if any(start < match.end() and match.start() < end for start, end in taken) or _is_a_word(told, match):
                continue
            taken.append((match.start(), match.end()))
            if _refused(told, match.start(), match.end()) or (
                form in right and _NEARBY.search(words_before(told, match.start()))
            ):
                continue
            places.append((match.start(), form))
            if form in right and (
                _beside(told, match.start(), match.end()) or _names_more(told, match, asked, right, announced)
            ):
                return False, f"the answer gives something beside {question.answer}"
    said = [form for _, form in sorted(places)]
    others = [form for form in said if form not in right]
    if others:
        return False, f"the answer says {' and '.join(dict.fromkeys(others))}"
    if not said:
        return False, f"the answer does not say {question.answer}"
    if len([part for part in re.split(r"[,\n]", told) if part.strip()]) > 3 and all(
        len(part.split()) < 4 for part in re.split(r"[,\n]", told)
    ):
        return False, "the answer is a list"
    return True, f"the answer is {question.answer}"


def _is_a_word(told: str, match: re.Match[str]) -> bool:
    """Whether `I`, `He` or `In` is the English word and no answer: `I could not find it`, `In short`."""
    if match[0] not in _WORDS_TOO or _MEANT.match(told, match.end()) is not None:
        return False
    return match[0] == "I" or _BEGINS.search(words_before(told, match.start())) is not None


def _names_more(told: str, match: re.Match[str], asked: str, right: Sequence[str], announced: bool) -> bool:
    """Whether one more answer stands beside, as in `Paris and Rome` or `Madrid, Paris`. What the question names is
    none: `Paris, France`."""
    more = _AND_MORE.match(told, match.end())
    if more is not None and (more["name"] or more["more"]) not in ("I", *re.findall(_NAMES, asked)):
        return True
    first = _NAMES_BEFORE.search(words_before(told, match.start()))
    if first is None:
        return False
    known = "\n".join((asked, *right)).lower()
    rivals = {name for kind in _KINDS if any(form.lower() in kind for form in right) for name in kind}
    return any(
        name.lower() not in known
        and (
            name.lower() in rivals
            or (announced and (opener := name.split()[0].lower()) not in _OPENERS and not opener.endswith("ly"))
        )
        for name in re.split(r"[,;]\s*", first["names"])
    )


def _form(form: str) -> re.Pattern[str]:
    """Return the pattern of a written form as whole words. One or two letters (He, K, IT) keep their case: they are
    words otherwise."""
    flags = re.IGNORECASE if len(form) > 2 else 0
    return regex(rf"(?<!\w){re.escape(form)}(?!\w)", flags)
