"""Read catalogues of experts and price lists: everything that is wrong with a file is told, one line each."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from toolscale.errors import SpecError, SpecIssue
from toolscale.records import CATEGORIES, Catalogue, Effort, Endpoint, ExpertSpec, Price, PriceList
from toolscale.records.base import Record
from toolscale.yaml_files import read_yaml

Read = TypeVar("Read", bound=Record)

_INSIDE: dict[str, type[Record]] = {
    "experts": ExpertSpec,
    "endpoint": Endpoint,
    "price": Price,
    "prices": Price,
    "effort": Effort,
}
"""The key under which a record stands in a file."""


def load_catalogue(path: Path) -> Catalogue:
    """Read a catalogue. SpecError says all that is wrong with it, with file, place, value and remedy."""
    return _load(path, Catalogue, _catalogue_issues)


def load_prices(path: Path) -> PriceList:
    """Read the price list of one provider. SpecError says all that is wrong with it."""
    return _load(path, PriceList, lambda data, file: iter(()))


def load_price_lists(folder: Path) -> tuple[PriceList, ...]:
    """Read all price lists of a folder, in the order of their file names; folders in it are not read. SpecError if
    there is none or one is wrong."""
    lists: list[PriceList] = []
    issues: list[SpecIssue] = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            lists.append(load_prices(path))
        except SpecError as error:
            issues += error.issues
    if not lists and not issues:
        issues.append(
            SpecIssue(
                str(folder),
                "",
                "there is no price list in this folder",
                "put a .yaml file there, or name another folder",
            )
        )
    if issues:
        raise SpecError(issues)
    return tuple(lists)


def _load(path: Path, model: type[Read], checks: Any) -> Read:
    file = str(path)
    data, issues = read_yaml(path, file=str(path), aliases=False)
    if not issues and not isinstance(data, dict):
        issues = [
            SpecIssue(file, "", f"{_shown(data)} is not a mapping", f"write the keys {', '.join(model.model_fields)}")
        ]
    if issues:
        raise SpecError(issues)
    issues = list(checks(data, file))
    try:
        # Read as JSON, strictly: YAML's "1.25" is text and no number, and a list may stand for a tuple.
        record = model.model_validate_json(json.dumps(data, default=str), strict=True)
    except ValidationError as error:
        issues += [_issue(dict(item), data, model, file) for item in error.errors(include_url=False)]
    if issues:
        raise SpecError(_deepest(issues))
    return record


def _deepest(issues: list[SpecIssue]) -> list[SpecIssue]:
    """Leave out what only repeats an issue further inside: pydantic calls a list too short if one of its items is
    wrong."""
    first = {issue.place: issue for issue in reversed(issues)}
    outer = {
        place
        for place in first
        if any(other != place and (not place or other.startswith((f"{place}.", f"{place}["))) for other in first)
    }
    return [issue for issue in issues if issue.place not in outer and first[issue.place] == issue]


def _catalogue_issues(data: dict[str, Any], file: str) -> Iterator[SpecIssue]:
    experts = data.get("experts")
    seen: set[str] = set()
    for number, expert in enumerate(experts if isinstance(experts, list) else []):
        if not isinstance(expert, dict):
            continue
        name = expert.get("name")
        place = _item("experts", number, expert)
        if isinstance(name, str) and name in seen:
            yield SpecIssue(
                file, f"{place}.name", f"the name {name!r} stands twice", "give one of the experts another name"
            )
        if isinstance(name, str):
            seen.add(name)
        for key in ("skills", "effort"):
            if isinstance(expert.get(key), dict):
                yield from _category_issues(expert[key], f"{place}.{key}", file)
        yield from _skill_issues(expert.get("skills"), f"{place}.skills", file)


def _category_issues(given: dict[str, Any], place: str, file: str) -> Iterator[SpecIssue]:
    for category in CATEGORIES:
        if category not in given:
            yield SpecIssue(file, f"{place}.{category}", "a category is missing", f"add {category!r}")
    for category in given:
        if category not in CATEGORIES:
            yield SpecIssue(
                file, f"{place}.{category}", f"unknown category {category!r}", _suggestion(category, CATEGORIES)
            )


def _skill_issues(skills: Any, place: str, file: str) -> Iterator[SpecIssue]:
    for category, share in skills.items() if isinstance(skills, dict) else ():
        if isinstance(share, int | float) and not isinstance(share, bool) and not 0 <= share <= 1:
            yield SpecIssue(
                file, f"{place}.{category}", f"{share!r} is not a share of right answers", "write a number from 0 to 1"
            )


def _issue(item: dict[str, Any], data: Any, model: type[Record], file: str) -> SpecIssue:
    kind, loc, value = item["type"], item["loc"], item.get("input")
    place = _place(loc, data)
    if kind == "extra_forbidden":
        return SpecIssue(file, place, f"unknown key {loc[-1]!r}", _suggestion(str(loc[-1]), _keys(loc, model)))
    if kind == "missing":
        return SpecIssue(file, place, "a required key is missing", f"add {loc[-1]!r}")
    if kind == "too_short":
        return SpecIssue(file, place, "the list is empty", "add an item")
    message = item["msg"].replace("Value error, ", "").replace("Input should", "it should")
    if kind == "value_error":
        return SpecIssue(file, place, message, "correct what it names")
    if kind == "string_pattern_mismatch":
        message = "use small letters, digits, dots and hyphens, a letter or digit first"
    return SpecIssue(file, place, f"{_shown(value)} does not fit here", message)


def _keys(loc: tuple[int | str, ...], model: type[Record]) -> Iterable[str]:
    """Return the keys that the record at this place knows."""
    inside = [_INSIDE[part] for part in loc[:-1] if isinstance(part, str) and part in _INSIDE]
    return sorted((inside[-1] if inside else model).model_fields)


def _place(loc: tuple[int | str, ...], data: Any) -> str:
    """Return the place as an author would point at it: `experts[gpt-5].price.input`."""
    place = ""
    for part in loc:
        if isinstance(data, dict):
            inner = data.get(part)
        else:
            inner = data[part] if isinstance(data, list) and isinstance(part, int) else None
        place = _item(place, part, inner) if isinstance(part, int) else f"{place}.{part}" if place else part
        data = inner
    return place


def _item(place: str, number: int, item: Any) -> str:
    name = item.get("name") if isinstance(item, dict) else None
    return f"{place}[{name if isinstance(name, str) else number}]"


def _suggestion(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(known)}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
