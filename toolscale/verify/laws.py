"""Gates `lawful` and `integrity`: the policy's rules before every golden write, the invariants of the touched rows
after it. The same rules bind every write of a rollout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolscale.environment.environment import Environment
from toolscale.environment.holding import Invariants
from toolscale.records import ToolCall
from toolscale.tasks.plan import CallPlan, RulePlan
from toolscale.tasks.record import Recorder
from toolscale.verify.subject import Subject


class Laws:
    """The rules and invariants of an environment, compiled once."""

    def __init__(self, environment: Environment, rules: Mapping[str, RulePlan]) -> None:
        self.environment = environment
        self._guards: dict[str, list[RulePlan]] = {}
        for rule in rules.values():
            for tool in rule.rule.guards:
                self._guards.setdefault(tool, []).append(rule)
        self._invariants = Invariants(environment)

    def broken(self, subject: Subject, recorder: Recorder) -> tuple[str | None, str | None]:
        """Replay the golden writes; return (the first rule broken, the first invariant broken), each None if there is
        none."""
        world = recorder.world
        world.reset()
        for call in subject.writes:
            rule = self.broken_rule(call.name, call.arguments, recorder)
            if rule is not None:
                return f"{call.name} breaks the rule {rule}: {self.environment.spec.policy.rules[rule].text}", None
            result = world.call(call.name, call.arguments, returns=False)
            if result.error is not None:
                return None, f"{call.name} fails: {result.error}"
            for table, key in world.touched():
                for name in self._invariants.broken_by(world, table, key):
                    return (
                        None,
                        f"after {call.name}, the invariant {name} does not hold for {table} {', '.join(map(str, key))}",
                    )
        return None, None

    def allowed(self, subject: Subject, recorder: Recorder) -> str | None:
        """Make the calls that a refusal forbids, one by one. Return a finding if none of them breaks a rule when its
        turn comes; None if one does, or a tool refuses one.

        The rule was found broken as things stand; but an earlier call of the same request may have made it lawful.
        """
        if not subject.recording.forbidden:
            return None
        recorder.world.reset()
        for step, arguments in subject.recording.forbidden:
            if self.broken_rule(step.tool.spec.name, arguments, recorder) is not None:
                return None
            if recorder.world.call(step.tool.spec.name, arguments).error is not None:
                return None
        return (
            "what is asked breaks no rule if it is done in order: "
            f"{', '.join(step.tool.spec.name for step, _ in subject.recording.forbidden)}"
        )

    def broken_on_the_way(self, calls: Sequence[ToolCall], recorder: Recorder) -> str | None:
        """Make the writes of a rollout one by one. Return the first that succeeds and breaks a rule when its turn
        comes, or None: whatever the end is, it was forbidden."""
        world = recorder.world
        world.reset()
        for call in calls:
            _, problem = world.prepare(call.name, call.arguments)
            guarded = call.name in self._guards and not isinstance(problem, str)
            rule = self.broken_rule(call.name, call.arguments, recorder) if guarded else None
            if world.call(call.name, call.arguments, returns=False).ok and rule is not None:
                return f"{call.name} broke the rule {rule}: {self.environment.spec.policy.rules[rule].text}"
        return None

    def broken_rule(self, tool: str, arguments: Mapping[str, Any], recorder: Recorder) -> str | None:
        """Return the rule that a call would break in the present state, or None. A look-up of a rule that fails counts
        as broken."""
        failures: list[str] = []

        def read(step: CallPlan, params: dict[str, Any]) -> Mapping[str, Any]:
            result = recorder.world.call(step.tool.spec.name, params)
            if result.error is not None:
                failures.append(result.error)
                return {part.name: [] if part.mode == "rows" else None for part in step.tool.returns}
            value: Mapping[str, Any] = result.value
            return value

        spec = self.environment.tools[tool].spec.parameters
        full = {name: arguments.get(name, schema.get("default")) for name, schema in spec.items()}
        for rule in self._guards.get(tool, ()):
            broken, _ = recorder.breaks(rule, full, read)
            if broken or failures:
                return rule.name
        return None
