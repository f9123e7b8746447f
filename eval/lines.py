"""From a rollout and its grade to the line that is kept of it."""

from __future__ import annotations

from eval.benchmark import Case, Graded, Opened
from eval.grading import failure_of
from eval.records import Line, key_of
from toolscale.records import Rollout
from toolscale.records.dollars import dollars_of


def line_of(opened: Opened, case: Case, policy_hash: str, rollout: Rollout, graded: Graded) -> Line:
    """Return the line of a rollout that was graded."""
    own = [charge for charge in rollout.ledger if charge.kind == "orchestrator"]
    others = [charge for charge in rollout.ledger if charge.kind != "orchestrator"]
    called = {each.alias: each.expert for each in case.task.experts}
    uses: dict[str, int] = {}
    for name, count in rollout.uses().items():
        uses[called.get(name, name)] = uses.get(called.get(name, name), 0) + count
    scored, wish = graded.status == "scored", case.task.preference
    task_hash = case.hash
    return Line(
        key=key_of(task_hash, policy_hash, rollout.sample),
        task=case.task.id,
        task_hash=task_hash,
        cluster=case.cluster,
        groups=dict(case.groups),
        policy=rollout.policy,
        policy_hash=policy_hash,
        sample=rollout.sample,
        status=graded.status,
        score=graded.score,
        finding=graded.finding,
        failure=failure_of(case, rollout, opened.ground.bench, graded.finding) if graded.score == 0 else None,
        stop=rollout.stop,
        judge=graded.judge,
        confidence=graded.confidence,
        utility=opened.worth.got(case.task, rollout, right=graded.score == 1) if scored else None,
        best=opened.worth.best(case.task),
        weights=(wish.outcome, wish.cost, wish.latency),
        cost_usd=rollout.cost_usd,
        latency_s=rollout.latency_s,
        own_cost_usd=dollars_of(charge.cost_usd for charge in own),
        own_latency_s=sum(charge.latency_s for charge in own),
        input_tokens=sum(charge.input_tokens for charge in own),
        output_tokens=sum(charge.output_tokens for charge in own),
        turns=len(own),
        malformed=rollout.malformed,
        uses=dict(sorted(uses.items())),
        failed_calls=sum(charge.error is not None for charge in others),
        first=next((called[each.name] for each in others if each.kind == "expert" and each.name in called), None),
        bearer=case.bearer,
    )
