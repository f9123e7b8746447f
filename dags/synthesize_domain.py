"""The tasks of one domain in the DAG synthesize_dataset."""

from __future__ import annotations

from airflow.sdk import get_current_context, get_parsing_context, task, task_group
from airflow.sdk.exceptions import AirflowSkipException
from toolscale_connections import model
from toolscale_house import domains
from toolscale_metrics import measure_assembling, measure_judging
from toolscale_settings import thresholds


def group_of(domain: str) -> str:
    """The group of a domain's tasks. A domain may be called like a task: `close`."""
    return f"domain_{domain}"


def domains_to_parse() -> list[str]:
    """The domains whose tasks are made where the file is read. To run a task of one, those of the others are not
    needed: making them takes longer than all else, where there are many."""
    group = (get_parsing_context().task_id or "").partition(".")[0]
    return [domain for domain in domains() if group_of(domain) == group] or domains()


@task_group
def synthesize_domain(domain: str, run: str):
    @task
    def build(run: str) -> str:
        from toolscale.pipeline.scheduled import build_domain

        return build_domain(run, domain)

    @task
    def plan(run: str, round_: int, judge: str) -> list[str]:
        from toolscale.pipeline.scheduled import plan_round

        return plan_round(run, domain, round_, f"{group_of(domain)}.{judge}")

    @task(map_index_template="{{ shard }}", pool="judging")
    def judge(plan: str) -> dict:
        from toolscale.pipeline.scheduled import judge_shard

        get_current_context()["shard"] = plan.rsplit("/", 1)[-1].removesuffix(".json")
        return measure_judging(domain, judge_shard, plan)

    @task(trigger_rule="none_failed_min_one_success", pool="judging")
    def assemble(run: str) -> dict:
        from toolscale.pipeline.scheduled import assemble_domain

        return measure_assembling(domain, assemble_domain, run, domain)

    @task(pool="llm")
    def consult(run: str) -> dict:
        from toolscale.pipeline.consulting import consult_domain, is_consulted

        if not is_consulted(run):
            raise AirflowSkipException("attempts is 0: no model is asked")
        return consult_domain(run, domain, model)

    @task(trigger_rule="none_failed_min_one_success")
    def quality_gate(run: str) -> dict:
        from toolscale.pipeline.scheduled import check_domain

        return check_domain(run, domain, thresholds())

    built = build(run)
    judged = judge.expand(plan=plan(built, 0, "judge"))
    more = plan.override(task_id="plan_more")(built, 1, "top_up")
    topped = judge.override(task_id="top_up").expand(plan=more)
    assembled = assemble(built)
    judged >> more
    [judged, topped] >> assembled
    assembled >> (consulted := consult(built))
    [assembled, consulted] >> quality_gate(built)
