"""What is written alike is compiled once, and what is written in another order anew."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path

from toolscale.environment.environment import load_environment

Spoil = Callable[..., Path]


def test_a_copy_is_not_compiled_again_and_another_order_of_parameters_is(spoil: Spoil, tmp_path: Path) -> None:
    first = load_environment(spoil())
    copied = load_environment(Path(shutil.copytree(first.folder, tmp_path / "elsewhere" / "mock")))
    assert copied == dataclasses.replace(first, folder=copied.folder) and copied.tools is first.tools
    order = "      member_id: {type: string}\n", "      amount_cents: {type: integer, minimum: 1}\n"
    turned = (first.folder / "toolset.yaml").read_text().replace("".join(order), "".join(order[::-1]))
    (first.folder / "toolset.yaml").write_text(turned)
    assert list(load_environment(first.folder).tools["pay_fees"].spec.parameters) == ["amount_cents", "member_id"]
    assert list(copied.tools["pay_fees"].spec.parameters) == ["member_id", "amount_cents"]
