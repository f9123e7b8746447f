"""The front door shows what it says, and the error tree is the one that is drawn."""

from __future__ import annotations

import re

import toolscale
from toolscale import errors
from toolscale.errors import ToolScaleError


def test_every_public_name_can_be_imported() -> None:
    assert sorted(toolscale.__all__) == toolscale.__all__
    assert [getattr(toolscale, name).__name__ for name in toolscale.__all__] == toolscale.__all__


def test_the_error_tree_is_drawn_as_it_is() -> None:
    drawn = set(re.findall(r"^[│├└─ ]*(\w+Error)\b", errors.__doc__ or "", re.MULTILINE))
    assert drawn == {
        name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, ToolScaleError)
    }
