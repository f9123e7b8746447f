"""Values that depend on others: a name by gender, a date beside another, a text made of columns; and recipes in which
that goes wrong."""

from __future__ import annotations

import pytest
import yaml

from toolscale.environment.population import make_rows
from toolscale.environment.population_check import check_population
from toolscale.errors import SpecError
from toolscale.records import PopulationSpec, SchemaSpec, WorldSpec

SCHEMA = SchemaSpec.model_validate(
    yaml.safe_load("""
tables:
  people:
    columns:
      person_id: {type: text, pk: true}
      name: {type: text}
      email: {type: text}
      born_on: {type: date}
      joined_on: {type: date}
  relatives:
    columns:
      relative_id: {type: text, pk: true}
      person_id: {type: text, fk: people.person_id}
      relation: {type: text}
      name: {type: text}
      added_on: {type: date}
      left_on: {type: date}
""")
)
WORLD = WorldSpec(title="People", description="", version="1", license="mit", now="2026-03-16T09:30:00")
RECIPE = """
seed: 5
tables:
  - table: people
    count: 40
    columns:
      person_id: {sequence: pr_}
      _first: {choice: [Zoë, Ann Marie, Mia, Leo]}
      _last: {choice: [O'Neil, Weiß, Kim]}
      name: {text: "{_first} {_last}"}
      email: {text: "{_first|initial}.{name|handle}@example.com"}
      born_on: {date: [-9000, -6600]}
      _of_age: {expr: "add_months(born_on, 216)"}
      joined_on: {date: [-3000, -20], after: _of_age}
  - table: relatives
    per: people
    count: 3
    columns:
      relative_id: {sequence: rl_}
      person_id: {parent: person_id}
      relation: {choice: [mother, sister, brother, neighbor], distinct: true}
      _gender: {by: relation, cases: {mother | sister: {value: female}, brother: {value: male},\
 else: {choice: [female, male]}}}
      _first: {by: _gender, cases: {female: {choice: [Mia, Ann Marie, Eva]}, male: {choice: [Leo, Max]}}}
      name: {text: "{_first} {parent._last}"}
      added_on: {date: [0, 9], from: parent.joined_on}
      _later: {expr: "add_days(added_on, 3)"}
      left_on: {date: [-3000, 0], after: added_on, before: _later}
"""


def made(recipe: str = RECIPE) -> dict[str, list[tuple[str | int | None, ...]]]:
    return make_rows(SCHEMA, WORLD, PopulationSpec.model_validate(yaml.safe_load(recipe)))


def issues(recipe: str) -> list[str]:
    return [
        str(issue) for issue in check_population(SCHEMA, WORLD, PopulationSpec.model_validate(yaml.safe_load(recipe)))
    ]


def test_a_given_name_follows_a_gender() -> None:
    fits = {"mother": {"Mia", "Ann Marie", "Eva"}, "sister": {"Mia", "Ann Marie", "Eva"}, "brother": {"Leo", "Max"}}
    people = {person: str(name) for person, name, *_ in made()["people"]}
    for _, person, relation, name, *_ in made()["relatives"]:
        first, last = str(name).rsplit(" ", 1)
        assert last == people[person].rsplit(" ", 1)[1]
        assert first in fits.get(str(relation), {"Mia", "Ann Marie", "Eva", "Leo", "Max"})


def test_a_text_is_written_as_in_an_address() -> None:
    known = {str(name): email for _, name, email, *_ in made()["people"]}
    assert known["Ann Marie O'Neil"] == "a.ann.marie.oneil@example.com"
    assert known["Zoë Weiß"] == "z.zoe.wei@example.com"


def test_dates_stand_beside_other_dates() -> None:
    rows = made()
    joined = {row[0]: str(row[4]) for row in rows["people"]}
    assert all(
        int(str(row[4])[:4]) - int(str(row[3])[:4]) >= 18 and str(row[4]) <= "2026-02-24" for row in rows["people"]
    )
    for _, person, _, _, added, left in rows["relatives"]:
        assert joined[person] <= str(added) <= str(left) <= "2026-03-16"


def test_a_name_is_unlike_another() -> None:
    recipe = RECIPE.replace("{choice: [Zoë, Ann Marie, Mia, Leo]}", "{faker: first_name_female}").replace(
        "female: {choice: [Mia, Ann Marie, Eva]}", "female: {faker: first_name_female, unlike: parent._first}"
    )
    people = {person: str(name) for person, name, *_ in made(recipe)["people"]}
    assert all(
        str(name).split()[0] != people[person].split()[0] for _, person, _, name, *_ in made(recipe)["relatives"]
    )


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        (
            "mother | sister:",
            "mother | sistre:",
            [
                "population.yaml: tables[1].columns._gender.cases: relation is never 'sistre'; did you mean 'sister'?",
            ],
        ),
        (
            ", else: {choice: [female, male]}",
            "",
            [
                "population.yaml: tables[1].columns._gender.cases: relation may be 'neighbor', which has no case; "
                "add the case, or else",
            ],
        ),
        (
            "brother: {value: male}",
            "brother | mother: {value: male}",
            [
                "population.yaml: tables[1].columns._gender.cases: 'mother' stands in two cases; keep one of them",
            ],
        ),
        (
            "brother: {value: male}",
            "brother: {value: mail}",
            [
                "population.yaml: tables[1].columns._first.cases: _gender may be 'mail', which has no case; "
                "add the case, or else",
            ],
        ),
        (
            "count: 3",
            "count: {by: _last, cases: {Kym: 1, else: 2}}",
            [
                "population.yaml: tables[1].count.cases: parent._last is never 'Kym'; did you mean 'Kim'?",
            ],
        ),
        (
            "{name|handle}",
            "{name|hanlde}",
            [
                "population.yaml: tables[0].columns.email: {name|hanlde}: a text is not written as 'hanlde'; "
                "use one of handle, initial",
            ],
        ),
        (
            "from: parent.joined_on",
            "from: parent.join_on",
            [
                "population.yaml: tables[1].columns.added_on: parent.join_on is not a column made before this one; "
                "known here: person_id, _first, _last, name, email, born_on, _of_age, joined_on",
            ],
        ),
        (
            "after: added_on",
            "after: left_on",
            [
                "population.yaml: tables[1].columns.left_on: left_on is not a column made before this one; "
                "known here: relative_id, person_id, relation, _gender, _first, name, added_on, _later",
            ],
        ),
    ],
)
def test_a_recipe_is_checked_before_a_row_is_made(old: str, new: str, lines: list[str]) -> None:
    assert old in RECIPE
    assert issues(RECIPE) == []
    assert issues(RECIPE.replace(old, new)) == lines


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (
            "after: _of_age",
            "after: name",
            "population.yaml: tables[0].columns.joined_on: people: name is 'Ann Marie Kim', not a date YYYY-MM-DD; "
            "name a column that always holds a date",
        ),
        (
            "[-3000, -20], after: _of_age",
            "[-9999, -9500], after: _of_age",
            "population.yaml: tables[0].columns.joined_on: people: no day lies between 2025-10-12 and 2000-03-12; "
            "widen the offsets, or choose another after or before",
        ),
        (
            '{text: "{_first} {parent._last}"}',
            "{faker: numerify, args: {text: female}, unlike: _gender}",
            "population.yaml: tables[1].columns.name: relatives: faker numerify gives nothing but 'female', "
            "which _gender holds; use another provider",
        ),
    ],
)
def test_what_only_the_rows_show_is_one_line(old: str, new: str, line: str) -> None:
    assert old in RECIPE
    with pytest.raises(SpecError) as caught:
        made(RECIPE.replace(old, new))
    assert str(caught.value) == line
