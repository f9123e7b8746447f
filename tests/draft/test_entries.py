"""The files in a reply of a model, and how a correction is put into a file."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from toolscale.draft.blocks import read_blocks
from toolscale.draft.brief import brief_findings
from toolscale.draft.entries import dump, merged, unmatched

TOOLS = {"lookups": "auto", "tools": [{"name": "close", "steps": [1]}, {"name": "open", "steps": [2]}]}


@pytest.mark.parametrize(
    ("correction", "result"),
    [
        ({"tools": [{"name": "open"}]}, [{"name": "close", "steps": [1]}, {"name": "open"}]),
        ({"tools": [{"name": "move"}]}, [*TOOLS["tools"], {"name": "move"}]),
        ({"remove": ["close"]}, [{"name": "open", "steps": [2]}]),
        ({"remove": ["close"], "tools": [{"name": "open"}]}, [{"name": "open"}]),
        ({}, TOOLS["tools"]),
    ],
)  # fmt: skip
def test_a_correction_brings_the_entries_that_change(correction: dict[str, Any], result: list[Any]) -> None:
    assert merged(TOOLS, correction) == {"lookups": "auto", "tools": result}


@pytest.mark.parametrize(
    ("names", "left", "unknown"),
    [
        (["describe.loans.due"], {"describe": {"loans": {"title": {}}}, "nouns": {"loans": "loan"}}, []),
        (["nouns.loans"], {"describe": {"loans": {"due": {}, "title": {}}}, "nouns": {}}, []),
        (["loans"], {"describe": {}, "nouns": {}}, []),
        (["due"], {"describe": {"loans": {"due": {}, "title": {}}}, "nouns": {"loans": "loan"}}, ["due"]),
    ],
)
def test_what_is_dropped_is_named_with_all_it_stands_in_and_a_name_that_nothing_has_is_told(
    names: list[str], left: dict[str, Any], unknown: list[str]
) -> None:
    old = {"describe": {"loans": {"due": {}, "title": {}}}, "nouns": {"loans": "loan"}}
    assert merged(old, {"remove": names}) == left
    assert unmatched(old, {"remove": names}) == unknown


def test_descriptions_and_parts_of_rules_are_corrected_one_by_one_and_tables_whole() -> None:
    rules = {"rules": {"late": {"text": "a", "guards": ["pay"]}}}
    assert merged(rules, {"rules": {"late": {"lifts": ["b"]}}}) == {
        "rules": {"late": {"text": "a", "guards": ["pay"], "lifts": ["b"]}}
    }
    words = {"describe": {"loans": {"due": {"text": "a"}, "title": {"text": "b"}}}}
    assert merged(words, {"describe": {"loans": {"due": {"text": "c"}}}}) == {
        "describe": {"loans": {"due": {"text": "c"}, "title": {"text": "b"}}}
    }
    schema = {"tables": {"loans": {"columns": {"loan_id": {}, "due_on": {}}}, "patrons": {"columns": {}}}}
    assert merged(schema, {"tables": {"loans": {"columns": {"loan_id": {}}}}}) == {
        "tables": {"loans": {"columns": {"loan_id": {}}}, "patrons": {"columns": {}}}
    }
    rows = {
        "tables": [{"table": "patrons"}, {"table": "loans", "n": 1}, {"table": "loans", "n": 2}, {"table": "fines"}]
    }
    assert merged(rows, {"tables": [{"table": "loans", "n": 3}]})["tables"] == [
        {"table": "patrons"}, {"table": "loans", "n": 3}, {"table": "fines"},
    ]  # fmt: skip


NAMES = st.sampled_from(["a", "b", "c", "d"])
ENTRIES = st.lists(st.builds(lambda name, n: {"id": name, "n": n}, NAMES, st.integers()), unique_by=lambda e: e["id"])


@given(ENTRIES, ENTRIES)
def test_after_a_correction_every_entry_is_the_newest_and_the_second_time_changes_nothing(
    old: list[dict[str, Any]], new: list[dict[str, Any]]
) -> None:
    once = merged({"intents": old}, {"intents": new})
    known = {each["id"]: each for each in [*old, *new]}
    assert {each["id"]: each for each in once["intents"]} == known and len(once["intents"]) == len(known)
    assert merged(once, {"intents": new}) == once


TEXT = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S", "Zs"]))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**60), 2**60) | TEXT,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abcxyz_", min_size=1), inner, max_size=3),
        max_leaves=8,
    )
)  # fmt: skip
def test_what_is_written_reads_back(value: Any) -> None:
    assert yaml.safe_load(dump({"value": value})) == {"value": value}


def reply(*blocks: str) -> str:
    return "Here it is:\n\n" + "\n\n".join(blocks) + "\n\nDone."


def test_the_files_of_a_reply_are_its_blocks() -> None:
    text = reply("```yaml toolset.yaml\ntools: [{name: close}]\n```", "```md policy.md\n# Policy\n\nBe kind.\n```")
    assert read_blocks(text, ("toolset.yaml", "policy.md")) == (
        {"toolset.yaml": {"tools": [{"name": "close"}]}, "policy.md": "# Policy\n\nBe kind.\n"},
        [],
    )
    assert read_blocks("```yaml\nseed: 1\n```", ("population.yaml",)) == ({"population.yaml": {"seed": 1}}, [])


BOMB = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9) if n else 1}]\n" for n in range(9))


@pytest.mark.parametrize(
    ("blocks", "wrong"),
    [
        (
            ["tools: []"],
            "the reply has no block; write each file as a block headed ```yaml NAME, and close it with ```",
        ),
        (["cases.yaml\na: 1"], "cases.yaml is not asked for; write only toolset.yaml"),
        (["../../etc/passwd.yaml\na: 1", "x.yaml\na: 1"], "x.yaml is not asked for; write only toolset.yaml"),
        (
            ["toolset.yaml\na: 1", "toolset.yaml\na: 2"],
            "toolset.yaml stands there twice; write one block for each file",
        ),
        (["toolset.yaml\n- a"], "toolset.yaml: it is no mapping; begin with the keys of the file"),
        (["toolset.yaml\na: 1\na: 2"], "toolset.yaml: line 2: the key 'a' stands twice in one mapping; remove one of"),
        (["toolset.yaml\na: !!python/object/apply:os.system [id]"], "toolset.yaml: line 1, column 4: not YAML"),
        ([f"toolset.yaml\n{BOMB}"], "toolset.yaml: "),
        (["x" * 1_000_001], "the reply has 1,000,001 characters; write at most 1,000,000"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else None,
)
def test_a_reply_that_is_no_file_is_a_finding(blocks: list[str], wrong: str) -> None:
    text = "\n".join(f"```yaml {each}\n```" for each in blocks) if "\n" in blocks[0] else blocks[0]
    found, lines = read_blocks(text, ("toolset.yaml",))
    assert found in ({}, {"toolset.yaml": {"a": 1}}) and len(lines) == 1 and lines[0].startswith(wrong)


BRIEF = {
    "title": "Library",
    "description": "A library lends books.",
    "tables": "patron, loan by patron",
    "subjects": [{"table": "patron", "columns": "name"}, {"table": "loan", "columns": "due date"}],
    "rules": ["No loan is postponed by more than 30 days.", "Nothing is closed on Sundays."],
    "transfer_reasons": {"complaint": "They want to complain."},
    "wishes": [
        {"id": name, "kind": kind, "wish": "They want it."}
        for name, kind in (("a", "do"), ("b", "do"), ("c", "do"), ("d", "ask"), ("e", "refuse"), ("f", "transfer"))
    ],
}


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({}, None),
        ({"tables": "patron; loan"}, "tables: 'patron; loan' is no table; write it as: --tables 'patron, title,"),
        ({"tables": "patron, order by patron"}, "tables: 'order' is a word of SQL; choose another name, order_item"),
        ({"subjects": BRIEF["subjects"][:1]}, "subjects: they are patron; write one for each of patron, loan, in this"),
        ({"wishes": BRIEF["wishes"][:5]}, "wishes: 0 of kind 'transfer'; write 1 or more"),
        ({"wishes": [*BRIEF["wishes"], BRIEF["wishes"][0]]}, "wishes: 'a' stands there twice"),
        ({"rules": ["One."]}, "rules: 1; write 2 or more"),
        ({"transfer_reasons": {}}, "transfer_reasons: none; write one or more"),
        ({"transfer_reasons": {"DROP TABLE": "x"}}, "transfer_reasons: 'DROP TABLE' is no name"),
    ],
)  # fmt: skip
def test_a_brief_is_checked_before_anything_is_made_of_it(change: dict[str, Any], line: str | None) -> None:
    lines = brief_findings(BRIEF | change, wishes=6)
    assert lines == [] if line is None else lines[0].startswith(line)
