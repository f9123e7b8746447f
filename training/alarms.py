"""Signs that a run has gone wrong, read from the figures of its last steps. Each stops the run, warns, or is off, as
the configuration says."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from toolscale.errors import TrainingError
from training.config import AlarmSettings

Figures = Mapping[str, Any]


class Alarms:
    """Looks at the figures of each step. They are those of all ranks together, so all ranks stop at the same step."""

    def __init__(self, settings: AlarmSettings):
        self._settings = settings
        self._last: deque[Figures] = deque(maxlen=settings.window)
        self._warned: set[str] = set()
        self._checks: dict[str, Callable[[], str | None]] = {
            "no_groups": self._no_groups,
            "flat_reward": self._flat_reward,
            "long_turns": self._long_turns,
            "one_tool": self._one_tool,
        }

    def look(self, figures: Figures) -> list[str]:
        """Take the figures of a step; return new warnings. Raises TrainingError where an alarm stops the run."""
        self._last.append(figures)
        if len(self._last) < self._settings.window:
            return []
        warnings = []
        for name, check in self._checks.items():
            action = getattr(self._settings, name)
            found = check() if action != "off" else None
            if found is None:
                self._warned.discard(name)
            elif action == "stop":
                raise TrainingError(f"alarm {name} at step {figures['step']}: {found}; alarms.{name}: warn goes on")
            elif name not in self._warned:  # said once, until it is over
                self._warned.add(name)
                warnings.append(f"alarm {name} at step {figures['step']}: {found}")
        return warnings

    def _no_groups(self) -> str | None:
        if any(figures["groups_kept"] for figures in self._last):
            return None
        steps = len(self._last)
        remedy = "lower reward.least_std, see what the model writes (malformed), or change the tasks"
        return f"no group of rollouts passed the filters in {steps} steps, so nothing is learned; {remedy}"

    def _flat_reward(self) -> str | None:
        if any(figures["reward_std"] > 0 for figures in self._last):
            return None
        return (
            f"all rollouts of {len(self._last)} steps have the same reward; "
            "see whether the model writes anything that can be read"
        )

    def _long_turns(self) -> str | None:
        turns = sum(figures["turns"] for figures in self._last)
        cut = sum(figures["cut"] for figures in self._last)
        if not turns or cut <= self._settings.most_cut * turns:
            return None
        return (
            f"{cut / turns:.0%} of the turns of {len(self._last)} steps were cut at rollout.max_new_tokens; "
            "raise it, or see what the model writes"
        )

    def _one_tool(self) -> str | None:
        calls: dict[str, float] = {}
        for figures in self._last:
            for name, count in figures["calls"].items():
                calls[name] = calls.get(name, 0) + count
        if len(calls) < 2 and not self._offered_more(calls):
            return None
        name, most = max(calls.items(), key=lambda item: (item[1], item[0]), default=("", 0.0))
        if not most or most <= self._settings.most_share * sum(calls.values()):
            return None
        return (
            f"{most / sum(calls.values()):.0%} of the calls of {len(self._last)} steps went to {name}; "
            "see reward and preferences"
        )

    def _offered_more(self, calls: Mapping[str, float]) -> bool:
        return bool(calls) and any(figures["offered"] > 1 for figures in self._last)
