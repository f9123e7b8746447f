"""Wrong and right trajectories: what a mutant, an equivalent or an idle agent does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from toolscale.records import ToolCall

Label = Literal["wrong", "right", "open"]
"""`wrong` and `right` are decided from meaning, before judging; `open` is decided by the end state: equal is harmless,
else it must be killed."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Calls and a filled form (None: the golden one), made by an operator from the golden trajectory."""

    operator: str
    label: Label
    calls: tuple[ToolCall, ...]
    answer: str | None = None
    with_reads: bool = False
    """Make the look-ups too, instead of trusting admission that they change nothing."""

    def describe(self) -> str:
        """The trajectory in one line."""
        calls = (
            ", ".join(
                f"{call.name}({', '.join(f'{k}={v!r}' for k, v in call.arguments.items())})" for call in self.calls
            )
            or "no write"
        )
        return f"{self.operator}: {calls}" + (f"; says {self.answer!r}" if self.answer is not None else "")


def swap_argument(calls: tuple[ToolCall, ...], position: int, **changed: object) -> tuple[ToolCall, ...]:
    """The calls with some arguments of one of them changed."""
    call = calls[position]
    replaced = ToolCall.trusted(name=call.name, arguments={**call.arguments, **changed})
    return (*calls[:position], replaced, *calls[position + 1 :])
