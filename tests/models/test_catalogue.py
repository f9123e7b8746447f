"""Catalogues and price lists: the shipped ones hold what they say, and a wrong one is told line by line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolscale.errors import SpecError
from toolscale.models.catalogue import load_catalogue, load_price_lists, load_prices
from toolscale.models.pricing import price_of, typical_latency
from toolscale.records import CATEGORIES, Catalogue, Price, PriceList

EXPERTS = Path(__file__).parents[2] / "experts"

SMALL = """
title: Small
experts:
  - name: one
    title: One
    price: {input: 1, output: 2.5}
    skills: {arithmetic: 0.5, code: 0.5, lookup: 0, mathematics: 1, knowledge: 0.5, reasoning: 0.5, tools: 0.5}
    effort:
      arithmetic: {output_tokens: 100, latency_s: 1}
      code: {output_tokens: 100, latency_s: 1}
      lookup: {output_tokens: 100, latency_s: 1}
      mathematics: {output_tokens: 100, latency_s: 1}
      knowledge: {output_tokens: 100, latency_s: 1}
      reasoning: {output_tokens: 100, latency_s: 1}
      tools: {output_tokens: 100, latency_s: 1}
    source: made for a test
"""
FIRST = SMALL[SMALL.index("  - name") :]


def wrong(folder: Path, text: str | bytes) -> list[str]:
    path = folder / "small.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(SpecError) as caught:
        load_catalogue(path)
    lines = str(caught.value).splitlines()
    assert len(lines) == len(caught.value.issues)
    return [line.removeprefix(f"{path}: ") for line in lines]


def test_a_catalogue_is_read(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    (expert,) = load_catalogue(path).experts
    assert (expert.name, expert.price, expert.skills["mathematics"], expert.spread) == (
        "one",
        Price(input=1, output=2.5),
        1,
        0.5,
    )


def test_the_shipped_catalogues_are_the_pools_they_say() -> None:
    shipped = [load_catalogue(EXPERTS / f"{name}.yaml") for name in ("paper", "held_out", "third")]
    names = {catalogue.title: [expert.name for expert in catalogue.experts] for catalogue in shipped}
    assert names == {
        "The experts of ToolOrchestra": [
            "gpt-5", "gpt-5-mini", "qwen3-32b", "qwen2.5-coder-32b", "qwen2.5-math-72b", "qwen2.5-math-7b",
            "llama-3.3-70b", "llama-3.1-8b", "deepseek-r1", "nemotron-ultra-253b", "phi-4-mini", "gemma-3-27b",
        ],
        "Experts that no orchestrator was trained with": [
            "claude-opus-4.1", "claude-sonnet-4", "o3-mini", "gpt-4o", "codestral-22b", "deepseek-math-7b",
            "openmath-llama-2-70b", "gemma-3-12b",
        ],
        "Ten experts of 2026": [
            "claude-opus-4.5", "gemini-3-pro", "kimi-k2-thinking", "gpt-4.1", "llama-4-maverick",
            "gpt-oss-120b", "mistral-small-3.2", "qwen3-coder-480b", "phi-4-mini-reasoning", "gemma-3-4b",
        ],
    }  # fmt: skip


def test_the_papers_prices_and_mean_latencies_are_those_of_its_tables() -> None:
    experts = load_catalogue(EXPERTS / "paper.yaml").experts[:7]
    assert {
        expert.name: (expert.price.input, expert.price.output, round(typical_latency(expert), 1)) for expert in experts
    } == {
        "gpt-5": (1.25, 10, 96),
        "gpt-5-mini": (0.25, 2, 27),
        "qwen3-32b": (0.8, 0.8, 11),
        "qwen2.5-coder-32b": (0.8, 0.8, 9),
        "qwen2.5-math-72b": (0.9, 0.9, 13),
        "qwen2.5-math-7b": (0.2, 0.2, 9),
        "llama-3.3-70b": (0.9, 0.9, 15),
    }


def test_price_lists_price_known_experts_and_the_held_out_one_stands_apart() -> None:
    known = {
        expert.name for name in ("paper", "held_out") for expert in load_catalogue(EXPERTS / f"{name}.yaml").experts
    }
    lists = load_price_lists(EXPERTS / "prices")
    held_out = load_price_lists(EXPERTS / "prices" / "held_out")
    assert [prices.provider for prices in lists] == [
        "AIML",
        "Chutes",
        "Cloudflare",
        "Fireworks",
        "Hyperbolic",
        "Lambda",
        "Nebius",
        "Novita",
        "Together",
        "Venice",
    ]
    assert [prices.provider for prices in held_out] == ["DeepInfra"]
    assert not {name for prices in (*lists, *held_out) for name in prices.prices} - known


def test_an_expert_that_a_price_list_leaves_out_keeps_its_price() -> None:
    one, two = load_catalogue(EXPERTS / "paper.yaml").experts[:2]
    prices = PriceList(provider="p", source="s", prices={one.name: Price(input=3, output=4)})
    assert [price_of(expert, prices) for expert in (one, two)] == [Price(input=3, output=4), two.price]
    assert price_of(one) == one.price


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            SMALL.replace("title: Small", "titel: Small"),
            [
                "title: a required key is missing; add 'title'",
                "titel: unknown key 'titel'; did you mean 'title'?",
            ],
        ),
        (
            SMALL.replace("input: 1,", "inputs: 1,"),
            [
                "experts[one].price.input: a required key is missing; add 'input'",
                "experts[one].price.inputs: unknown key 'inputs'; did you mean 'input'?",
            ],
        ),
        (
            SMALL.replace("input: 1,", "input: '1',"),
            ["experts[one].price.input: '1' does not fit here; it should be a valid number"],
        ),
        (
            SMALL.replace("input: 1,", "input: -1,"),
            ["experts[one].price.input: -1 does not fit here; it should be greater than or equal to 0"],
        ),
        (SMALL.replace("input: 1,", "input: .inf,"), ["experts.0.price.input: inf is no number; write a number"]),
        (SMALL.replace("input: 1,", "input: .nan,"), ["experts.0.price.input: nan is no number; write a number"]),
        (
            SMALL.replace("mathematics: 1,", "mathematics: 1.2,"),
            ["experts[one].skills.mathematics: 1.2 is not a share of right answers; write a number from 0 to 1"],
        ),
        (
            SMALL.replace("lookup: 0,", "look-up: 0,"),
            [
                "experts[one].skills.lookup: a category is missing; add 'lookup'",
                "experts[one].skills.look-up: unknown category 'look-up'; did you mean 'lookup'?",
            ],
        ),
        (
            SMALL.replace("name: one", "name: One!"),
            [
                "experts[One!].name: 'One!' does not fit here; "
                "use small letters, digits, dots and hyphens, a letter or digit first"
            ],
        ),
        (SMALL + FIRST, ["experts[one].name: the name 'one' stands twice; give one of the experts another name"]),
        (
            SMALL.replace("title: One", "title: One\n    title: Two"),
            ["line 6: the key 'title' stands twice in one mapping; remove one of them"],
        ),
        (
            SMALL.replace("price: {", "price: &p {").replace("source:", "endpoint: *p\n    source:"),
            ["line 16, column 15: the alias *p is not allowed; write the value again"],
        ),
        (
            "title: a\nexperts: []",
            ["experts: the list is empty; add an item"],
        ),
        ("", ["None is not a mapping; write the keys title, experts"]),
        ("- a", ["['a'] is not a mapping; write the keys title, experts"]),
        (
            "a: [",
            [
                "line 2, column 1: not YAML: did not find expected node content; "
                "text with ': ', ' #', '{' or ',' in it needs quotes; check the indentation",
            ],
        ),
        (b"title: \xff", ["byte 7: the file is not UTF-8; save it as UTF-8"]),
        (
            "!!python/object/apply:os.system ['true']",
            [
                "line 1, column 1: not YAML: could not determine a constructor for "
                "the tag 'tag:yaml.org,2002:python/object/apply:os.system'; "
                "text with ': ', ' #', '{' or ',' in it needs quotes; check the indentation",
            ],
        ),
        ("[" * 5000, ["lists or mappings are nested more than 60 deep; write it as the schema says"]),
    ],
)
def test_everything_that_is_wrong_is_told(tmp_path: Path, text: str | bytes, lines: list[str]) -> None:
    assert wrong(tmp_path, text) == lines


def test_a_file_that_is_missing_is_told(tmp_path: Path) -> None:
    for load in (load_catalogue, load_prices):
        with pytest.raises(SpecError) as caught:
            load(tmp_path / "none.yaml")
        assert str(caught.value) == f"{tmp_path}/none.yaml: the file is missing; write it in {tmp_path.name}/"
    with pytest.raises(SpecError) as caught:
        load_price_lists(tmp_path)
    assert (
        str(caught.value)
        == f"{tmp_path}: there is no price list in this folder; put a .yaml file there, or name another folder"
    )


def test_all_wrong_price_lists_of_a_folder_are_told_at_once(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text("provider: p\nsource: 2026-01-01\nprices: {x: {input: 1, output: yes}}")
    with pytest.raises(SpecError) as caught:
        load_price_lists(tmp_path)
    problem = "prices.x.output: True does not fit here; it should be a valid number"
    assert str(caught.value) == f"{tmp_path}/a.yaml: {problem}\n{tmp_path}/b.yaml: {problem}"


@given(st.text(max_size=200), st.integers(0, len(SMALL)))
def test_a_catalogue_is_read_or_refused_in_lines(
    tmp_path_factory: pytest.TempPathFactory, text: str, place: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text(SMALL[:place] + text + SMALL[place:], encoding="utf-8", errors="replace")
    try:
        assert isinstance(load_catalogue(path), Catalogue)
    except SpecError as error:
        assert len(str(error).splitlines()) == len(error.issues) > 0


def test_every_category_of_the_shipped_catalogues_has_a_source() -> None:
    for name in ("paper", "held_out", "third"):
        lines = (EXPERTS / f"{name}.yaml").read_text().splitlines()
        skills = [
            line
            for line in lines
            if line.startswith("      ") and line.strip().split(":")[0] in CATEGORIES and "{" not in line
        ]
        assert skills and all("  # " in line for line in skills)
