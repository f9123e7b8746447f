"""Populations: only (spec, seed, scale) matter, and what does not fit the schema is named with its row."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from toolscale.environment.environment import Environment, load_environment
from toolscale.environment.population import make_rows, populate
from toolscale.errors import SpecError
from toolscale.records import PopulationSpec, SchemaSpec, WorldSpec
from toolscale.sandbox.base import Rows
from toolscale.sandbox.state import state_hash

Spoil = Callable[..., Path]

SCHEMA = SchemaSpec.model_validate(
    yaml.safe_load("""
tables:
  owners:
    columns: {owner_id: {type: text, pk: true}, name: {type: text}, kind: {type: text, values: [shop, person]}}
  pets:
    columns:
      pet_id: {type: text, pk: true}
      owner_id: {type: text, fk: owners.owner_id}
      name: {type: text}
      born_on: {type: date}
      chip: {type: text, unique: true, nullable: true}
      price_cents: {type: cents, check: price_cents > 0}
      fee_cents: {type: cents}
      friend_id: {type: text, fk: pets.pet_id, nullable: true}
      is_calm: {type: bool}
""")
)
WORLD = WorldSpec(title="Pets", description="", version="1", license="mit", now="2026-03-16T09:30:00")
OWNERS = (
    "\n  - table: owners\n    count: 10\n"
    "    columns: {owner_id: {sequence: ow_}, kind: {choice: {shop: 1, person: 3}}, "
    "name: {by: kind, cases: {shop: {faker: company}, else: {faker: name}}}}\n"
)
PETS = """
  - table: pets
    per: owners
    count: {by: kind, cases: {shop: [5, 6], else: [1, 2]}}
    columns:
      pet_id: {sequence: pt_}
      _factor: {int: [2, 4]}
      owner_id: {parent: owner_id}
      name: {choice: [Rex, Mia, Leo, Tom, Zoe, Kim], distinct: true}
      born_on: {date: [-3000, -10]}
      chip: {"null": 0.3, otherwise: {digits: 6}}
      price_cents: {cents: [1000, 90000], step: 50}
      fee_cents: {expr: "pct_cents(price_cents, 150) * _factor + LENGTH(parent.name)"}
      friend_id: {value: null}
      is_calm: {choice: [true, false]}
"""


def make(tables: str, more: str = "", seed: int = 0, scale: int = 1) -> Rows:
    spec = PopulationSpec.model_validate(yaml.safe_load(f"seed: 1\ntables:{tables}{more}"))
    return make_rows(SCHEMA, WORLD, spec, seed=seed, scale=scale)


def test_every_kind_of_value_fits_its_column() -> None:
    rows = make(OWNERS + PETS)
    owners = {row[0]: row for row in rows["owners"]}
    assert len(owners) == 10
    for _, owner, name, born_on, chip, price, fee, friend, is_calm in rows["pets"]:
        assert name in ("Rex", "Mia", "Leo", "Tom", "Zoe", "Kim")
        assert "2017-12-01" < str(born_on) < "2026-03-07"
        assert chip is None or len(str(chip)) == 6
        assert isinstance(price, int) and 1000 <= price <= 90000 and price % 50 == 0
        one = (price * 150 + 5000) // 10000
        assert fee in [one * factor + len(str(owners[owner][1])) for factor in (2, 3, 4)]
        assert (friend, is_calm in (0, 1)) == (None, True)
    names = [(row[1], row[2]) for row in rows["pets"]]
    assert len(names) == len(set(names))


def test_a_shop_has_more_pets_than_a_person() -> None:
    rows = make(OWNERS + PETS)
    kinds = {row[0]: row[2] for row in rows["owners"]}
    counts = {owner: sum(row[1] == owner for row in rows["pets"]) for owner in kinds}
    assert all(count in ((5, 6) if kinds[owner] == "shop" else (1, 2)) for owner, count in counts.items())


def test_a_reference_is_matched_and_filtered() -> None:
    plant = """
plant:
  - title: friends
    change: pets
    where: is_calm = 1
    count: 4
    set: {friend_id: {ref: pets, match: {is_calm: is_calm}, where: pets.owner_id <> row.owner_id}}
"""
    pets = {row[0]: row for row in make(OWNERS + PETS, plant)["pets"]}
    friends = [(row, pets[row[7]]) for row in pets.values() if row[7]]
    assert len(friends) == 4
    assert all(row[8] == friend[8] == 1 and row[1] != friend[1] for row, friend in friends)


def test_a_planted_copy_gets_its_own_number() -> None:
    plant = "\nplant:\n  - {title: twins, copy: pets, count: 2, set: {chip: {value: null}}}\n"
    before, after = make(OWNERS + PETS)["pets"], make(OWNERS + PETS, plant)["pets"]
    new = [row for row in after if row not in before]
    assert len(new) == 2
    assert all(any(row[1:4] == old[1:4] for old in before) for row in new)


def test_derived_values_see_all_rows() -> None:
    derive = (
        "\nderive:\n  - UPDATE owners SET name = (SELECT MIN(p.name) FROM pets p WHERE p.owner_id = owners.owner_id)\n"
    )
    rows = make(OWNERS + PETS, derive)
    first = {row[0]: row[1] for row in rows["owners"]}
    assert first == {owner: min(str(row[2]) for row in rows["pets"] if row[1] == owner) for owner in first}


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_only_the_arguments_matter(seed: int) -> None:
    assert make(OWNERS + PETS, seed=seed) == make(OWNERS + PETS, seed=seed)


def test_editing_one_column_leaves_the_others() -> None:
    before, after = make(OWNERS + PETS), make(OWNERS + PETS.replace("date: [-3000, -10]", "date: [-30, -10]"))
    assert [(*row[:3], *row[4:]) for row in before["pets"]] == [(*row[:3], *row[4:]) for row in after["pets"]]
    assert [row[3] for row in before["pets"]] != [row[3] for row in after["pets"]]


def test_scale_multiplies_what_hangs_on_nothing() -> None:
    assert [len(make(OWNERS + PETS, scale=scale)["owners"]) for scale in (1, 3)] == [10, 30]


def test_a_larger_world_takes_more_digits_where_they_run_out() -> None:
    tables = OWNERS + PETS.replace('{"null": 0.3, otherwise: {digits: 6}}', "{digits: 1}")
    with pytest.raises(SpecError, match="pets: 1 digits are too few for this many rows"):
        make(tables)
    chips = [row[4] for row in make(tables, scale=2)["pets"]]
    assert len(set(chips)) == len(chips)
    assert [len(str(chip)) for chip in chips] == [1] * 9 + [2] * (len(chips) - 9)


def test_a_closed_list_does_not_grow_wherever_it_stands() -> None:
    shops = """
tables:
  - table: owners
    count: 3
    columns:
      owner_id: {sequence: ow_}
      name: %s
      kind: {value: shop}
"""
    drawn = "{choice: [Ann, Bob, Cleo], distinct: true}"
    rest = "{value: Zoe}"
    sizes = [
        len(make(shops % name, scale=4)["owners"])
        for name in (rest, drawn, f'{{"null": 0, otherwise: {drawn}}}', f"{{by: owner_id, cases: {{else: {drawn}}}}}")
    ]
    assert sizes == [12, 3, 3, 3]
    plant = "\nplant:\n  - {title: Two of one name, change: owners, count: 2, set: {name: {other: name}}}\n"
    assert len(make(shops % drawn, plant, scale=4)["owners"]) == 3


@pytest.mark.parametrize(
    ("tables", "more", "lines"),
    [
        (
            OWNERS.replace("shop: 1,", "shpo: 1,"),
            "",
            [
                "population.yaml: tables[0].columns.kind: row 1 of owners: kind is 'shpo', not one of shop, person; "
                "correct the value",
            ],
        ),
        (
            OWNERS + PETS.replace("{parent: owner_id}", "{value: ow_1}"),
            "",
            [
                "population.yaml: pets.owner_id: row pt_1001: 'ow_1' is not a owners.owner_id (19 such rows); "
                "use parent: or ref: owners",
            ],
        ),
        (
            OWNERS + PETS.replace("cents: [1000, 90000]", "cents: [0, 0]"),
            "",
            [
                "population.yaml: pets: row pt_1001 breaks the check 'price_cents > 0'; correct the batch or the check",
            ],
        ),
        (
            OWNERS + PETS.replace("digits: 6", "value: '123456'"),
            "",
            [
                "population.yaml: pets.chip: two rows have '123456'; make the values unique",
            ],
        ),
        (
            OWNERS + PETS.replace("date: [-3000, -10]", "value: 2026-02-30"),
            "",
            [
                "population.yaml: tables[1].columns.born_on: row 0 of pets: born_on is '2026-02-30', "
                "not a date YYYY-MM-DD; correct the value",
            ],
        ),
        (
            OWNERS,
            "\nplant:\n  - {title: shops, change: owners, where: kind = 'shop', count: 50, set: {name: {value: x}}}\n",
            [
                "population.yaml: plant[0]: shops: 1 rows of owners fit, 50 are wanted; lower count or widen where",
            ],
        ),
        (
            OWNERS + PETS,
            "\nderive:\n  - UPDATE pets SET price_cents = price_cents - price_cents\n",
            [
                "population.yaml: pets: row pt_1001 breaks the check 'price_cents > 0'; correct the batch or the check",
            ],
        ),
    ],
)
def test_what_does_not_fit_is_named(tables: str, more: str, lines: list[str]) -> None:
    text = yaml.safe_load(f"seed: 1\ntables:{tables}{more}".replace("value: 2026-02-30", "value: '2026-02-30'"))
    with pytest.raises(SpecError) as caught:
        make_rows(SCHEMA, WORLD, PopulationSpec.model_validate(text))
    assert [str(issue) for issue in caught.value.issues] == lines


def test_the_state_hash_depends_on_no_process(mock_environment: Environment, mock_rows: Rows) -> None:
    program = (
        "from toolscale.environment.environment import load_environment;"
        "from toolscale.environment.population import populate;"
        "from toolscale.sandbox.state import state_hash;"
        "environment = load_environment('mock'); print(state_hash(environment.schema, populate(environment)))"
    )
    variables = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Pacific/Auckland"}
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=variables
    ).stdout.strip()
    assert printed == state_hash(mock_environment.schema, mock_rows)


def test_another_seed_gives_other_rows(mock_environment: Environment, mock_rows: Rows) -> None:
    assert populate(mock_environment, seed=1) != mock_rows


def test_a_dangling_reference_is_found(spoil: Spoil) -> None:
    environment = load_environment(
        spoil(("population.yaml", "member_id: {parent: member_id}", "member_id: {value: mb_7}"))
    )
    with pytest.raises(SpecError) as caught:
        populate(environment)
    assert str(caught.value) == (
        "population.yaml: loans.member_id: row ln_1001: 'mb_7' is not a members.member_id (29 such rows); "
        "use parent: or ref: members"
    )
