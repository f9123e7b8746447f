"""What a run asked of models and what it cost, by stage and model."""

from __future__ import annotations

from dataclasses import dataclass, field

from toolscale.records.dollars import dollars_of


@dataclass
class StageCost:
    """What one stage asked of one model."""

    stage: str
    model: str
    replies: int = 0
    kept: int = 0
    """Of these, replies that lay on disk and cost nothing."""
    failures: int = 0
    """Tries that had no answer, or none that could be used."""
    input_tokens: int = 0
    output_tokens: int = 0
    """Of all replies, those on disk too."""
    paid_usd: float | None = 0.0
    """Dollars of this run; None where no price is known."""
    worth_usd: float | None = 0.0
    """Dollars that all replies cost when they were asked for; None where that is not known of all."""
    seconds: float = 0.0
    """Between sending and receiving, this run, all requests together."""

    def pay(self, dollars: float | None) -> None:
        """Book what was paid now."""
        self.paid_usd = dollars_of((self.paid_usd, dollars))

    def value(self, dollars: float | None) -> None:
        """Book what a reply was worth when it was asked for."""
        self.worth_usd = dollars_of((self.worth_usd, dollars))


@dataclass
class Ledger:
    """The stages in the order in which they first asked."""

    stages: dict[tuple[str, str], StageCost] = field(default_factory=dict)

    def of(self, stage: str, model: str) -> StageCost:
        """Return the line of a stage and a model."""
        return self.stages.setdefault((stage, model), StageCost(stage, model))

    def rows(self) -> list[StageCost]:
        """Return all lines, and their total as the last one if there are several."""
        lines = list(self.stages.values())
        return [*lines, self.total()] if len(lines) > 1 else lines

    def total(self) -> StageCost:
        """Return the sum of all lines."""
        total = StageCost("total", "")
        for line in self.stages.values():
            for name in ("replies", "kept", "failures", "input_tokens", "output_tokens"):
                setattr(total, name, getattr(total, name) + getattr(line, name))
            total.pay(line.paid_usd)
            total.value(line.worth_usd)
            total.seconds += line.seconds
        return total
