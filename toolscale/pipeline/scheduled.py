"""The stages as a scheduler calls them: a URL in, a URL or a few figures out, each call in a process and perhaps on a
machine of its own.

    order_run -> for each domain: build_domain -> plan_round -> judge_shard, many -> plan_round -> judge_shard, many ->
    assemble_domain
              -> check_domain -> collect_run -> close_run

The functions may be called again after any failure: what is there already is not made again. Two rounds are judged by
mapped tasks; what is still short after them is little, and `assemble_domain` judges it itself.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from toolscale.canonical import stable_int
from toolscale.config import EVOLVED_SHARE, SHARD_NUMBERS
from toolscale.dataset.checking.quality import Thresholds, check_quality
from toolscale.dataset.comparing.combined import combine
from toolscale.dataset.describing.figures import without_task
from toolscale.dataset.describing.shortfall import why_short
from toolscale.dataset.given import read_given
from toolscale.dataset.making.judging import close_kept_judges
from toolscale.dataset.making.rounds import Rounds
from toolscale.dataset.making.selection import apply_novelty
from toolscale.dataset.making.shards import Shard, airflow_task, cut_shards, read_shard_plan, write_rejects
from toolscale.dataset.making.units import judge_unit, read_judged, units_of
from toolscale.dataset.making.workers import fitting_workers
from toolscale.dataset.manifest import MANIFEST, Recipe, read_manifest, world_folder
from toolscale.dataset.places import deliver, files_in, fresh_folder, is_local, local_copy, open_place, url_of
from toolscale.dataset.runs import Order, Run, data_root, open_run, run_at
from toolscale.dataset.storage import file_hash, read_file, read_json, remove_folder, write_file
from toolscale.dataset.world import ADMISSION
from toolscale.environment.environment import Environment, load_environment
from toolscale.environment.registry import find_folder
from toolscale.errors import DatasetError, QualityError, UsageError
from toolscale.pipeline.holds import ANNOUNCED, hold
from toolscale.pipeline.pruning import keep_told, prune_runs
from toolscale.pipeline.stages import assemble, build_environment, judge_enough, place_of, recipe_of
from toolscale.records import Manifest

__all__ = [
    "assemble_domain",
    "build_domain",
    "check_domain",
    "close_run",
    "collect_run",
    "data_root",
    "judge_shard",
    "keep_told",
    "night_seed",
    "order_of",
    "order_run",
    "plan_round",
    "prune_runs",
]

log = logging.getLogger(__name__)

LONGER = "trigger a run with a longer deadline"
NIGHTS = {"scheduled", "backfill"}
"""Types of runs that stand for a night: run again for the same night, they have the same seed."""


def order_of(dag_run: Any, params: Mapping[str, Any]) -> Order:
    """Return what a run of Airflow asks for. `dag_run` has `dag_id`, `run_id`, `run_type`, `start_date`,
    `logical_date`, `data_interval_start`."""
    night = dag_run.data_interval_start if dag_run.run_type in NIGHTS else None
    seed = params["seed"] if params["seed"] is not None else night_seed(night) if night else 0
    publish = params["publish"] or ("never" if dag_run.run_type == "backfill" else "ask")
    return Order(
        dag_id=dag_run.dag_id,
        run_id=dag_run.run_id,
        started=_utc(dag_run.start_date),
        logical_date=dag_run.logical_date and _utc(dag_run.logical_date),
        domains=tuple(params["domains"]),
        tasks=params["tasks"],
        seed=seed,
        evolved=EVOLVED_SHARE if params["evolved"] is None else params["evolved"],
        publish=publish,
        params=dict(params),
        turns=params.get("turns", "mixed"),
        answer=params.get("answer", "form"),
        night=night and _utc(night),
        repo=params.get("repo"),
    )


def night_seed(night: datetime) -> int:
    """Return the seed of the night that begins at `night`: 31 bits that depend on that instant alone."""
    return stable_int("night", _utc(night)) % 2**31


def order_run(root: str, order: Order) -> str:
    """Open a run and return its URL. UsageError if a domain is unknown, or the tasks, the seed or the share cannot
    be."""
    if not order.domains:
        raise UsageError("domains is empty; choose at least one")
    for domain in order.domains:
        _ordered(order, load_environment(find_folder(domain)))
    return open_run(root, order).url


def build_domain(run_url: str, domain: str) -> str:
    """Admit and populate the environment of a domain in the scratch of the run; return the URL of the run.

    From here on the run is not complete, even if it was. What was judged of other inputs (other code, another order
    under the same run id) is removed.
    """
    run = run_at(run_url)
    remove_folder(run.dataset())
    world, recipe = run.world(domain), run.scratch / "recipes" / f"{domain}.json"
    order = run.order()
    environment = load_environment(find_folder(domain))
    inputs = _ordered(order, environment).inputs
    if _begun(recipe) != inputs:
        _start_over(run, domain)
    with fresh_folder(run.scratch, f".build-{domain}") as staged:
        built = build_environment(environment.folder, staged / domain, staged / "admitted")
        if (
            not is_local(world)
            or not (world / ADMISSION).exists()
            or read_file(world / ADMISSION) != read_file(built / ADMISSION)
            or read_given(None, world) != read_given(None, built)
        ):
            deliver(built, world, ADMISSION)
    write_file(recipe, json.dumps({"inputs": inputs}).encode())
    return run_url


def plan_round(run_url: str, domain: str, round_: int, task_id: str, *, most: int = SHARD_NUMBERS) -> list[str]:
    """Write the plans of the shards of a round and return their URLs: none if the rounds before it brought enough.

    `task_id` will judge them, each at most `most` candidates (and a unit at least).
    """
    run = run_at(run_url)
    with _world(run, domain) as world:
        recipe = _recipe(run, world)
        rounds, first = Rounds(load_environment(world), recipe), 0
        for number in range(round_):
            drawn = rounds.draw()
            first += len(cut_shards(drawn, domain=domain, round_=number, first=first, task_id=task_id, most=most))
            units = units_of(place_of(world, recipe), recipe.seed, drawn, run.judged(domain))
            rounds.add(read_judged(unit.path for unit in units)[1])
        shards = cut_shards(rounds.draw(), domain=domain, round_=round_, first=first, task_id=task_id, most=most)
        if shards:
            run.order().limits().check_time(f"{domain} has {rounds.told()}; what is judged is kept: {LONGER}")
    return [url_of(shard.write(run.scratch / "plan")) for shard in shards]


def judge_shard(plan_url: str) -> dict[str, Any]:
    """Judge the candidates of a shard and write its rejects; return its name and counts. A shard that was interrupted
    goes on with its next unit.

    `gates`: how many candidates each gate rejected, the first that failed where several did.
    """
    path = open_place(plan_url)
    run = Run(path.parents[3], path.parents[1].name)
    if not path.exists():
        raise DatasetError(
            f"{path} is gone, as after a complete run; clear the task `build` of its domain with all that follows it"
        )
    shard = read_shard_plan(path)
    with _world(run, shard.domain) as world:
        recipe = _recipe(run, world)
        units = units_of(place_of(world, recipe), recipe.seed, shard.numbers, run.judged(shard.domain))
        done = list[Path]()
        for unit in units:
            done.append(judge_unit(unit))
            log.info("%s: %d of %d parts judged", shard.name, len(done), len(units))
        no_case, judged = read_judged(done)
        close_kept_judges()
        rejects = [(item, shard) for item in judged if not item.verdict.accepted]
        _write_rejects(run, world, shard.name, rejects)
    gates = Counter(item.verdict.failed[0].gate for item, _ in rejects)
    return {
        "shard": shard.name,
        "candidates": len(judged),
        "accepted": len(judged) - len(rejects),
        "rejected": len(rejects),
        "no_case": len(no_case),
        "gates": dict(sorted(gates.items())),
    }


def assemble_domain(run_url: str, domain: str) -> dict[str, Any]:
    """Judge what is still short, apply novelty and quotas, and write the dataset of a domain; return its URL and
    counts."""
    run = run_at(run_url)
    target = run.dataset(domain)
    with _world(run, domain) as world, fresh_folder(run.scratch, f".dataset-{domain}") as staged:
        recipe = _recipe(run, world)
        if (target / MANIFEST).exists() and (manifest := read_manifest(target)).inputs == recipe.inputs:
            return _summary(target, manifest)
        workers = fitting_workers(recipe.tasks) if is_local(target) else 1
        judged = judge_enough(
            world,
            run.judged(domain),
            recipe=recipe,
            workers=workers,
            progress=_log_progress,
            limits=run.order().limits(),
        )
        close_kept_judges()
        _write_late_rejects(run, world, domain, judged)
        inside = Path(shutil.copytree(world, world_folder(staged, domain)))
        manifest = assemble(inside, judged, staged, recipe)
        if short := why_short(manifest.domains[domain]):
            log.warning("%s: %s", domain, short)
        if missing := without_task(load_environment(inside), manifest.counts):
            told = "%s: %d intents have no task (no seat: none of its candidates was chosen): %s"
            log.warning(told, domain, len(missing), ", ".join(missing))
        deliver(staged, target, MANIFEST)
    return _summary(target, manifest)


def check_domain(run_url: str, domain: str, thresholds: Any = None) -> dict[str, Any]:
    """Hold the dataset of a domain against the quality gate, write what it found, and return the figures. QualityError
    if it is under a threshold.

    `thresholds`: figure -> what is wanted of it, where that is not the usual.
    """
    run, wanted = run_at(run_url), Thresholds.of({} if thresholds is None else thresholds)
    with local_copy(run.dataset(domain)) as dataset:
        quality = check_quality(dataset, wanted)
    write_file(run.quality(domain), quality.render())
    for name, figure in quality.figures.items():
        log.info("%s: %s = %s (threshold %s)", domain, name, figure, quality.thresholds.get(name, "none"))
    if not quality.passed:
        raise QualityError(f"{domain}: {'; '.join(quality.reasons)}")
    return quality.figures


def _log_progress(act: str, done: int, total: int) -> None:
    log.info("%s: %d of %d parts", act, done, total)


def collect_run(run_url: str) -> dict[str, Any]:
    """Combine the datasets of all domains into the dataset of the run; return what listeners are told of it."""
    run = run_at(run_url)
    order = run.order()
    with ExitStack() as stack, fresh_folder(run.scratch, ".dataset") as staged:
        manifest = combine([stack.enter_context(local_copy(run.dataset(domain))) for domain in order.domains], staged)
        digest = file_hash(staged / MANIFEST)
        deliver(staged, run.dataset(), MANIFEST)
    hold(url_of(run.dataset()), "followers", ANNOUNCED)  # publishing and training are triggered by what is told here
    told = {
        "run_id": order.run_id,
        "domains": list(order.domains),
        "seed": order.seed,
        "publish": order.publish,
        "sha256": digest,
        "night": order.night,
        "by_hand": order.night is None,
        "repo": order.repo,
    }
    return _summary(run.dataset(), manifest) | told


def close_run(run_url: str, finished: datetime | None = None) -> str:
    """Remove the scratch of a run that is complete; that of any other stays, so that its failed tasks can be run again.
    Return what was done.

    `finished`: the time of the caller, written beside the dataset. A run whose failed tasks were cleared ends again,
    and later.
    """
    run = run_at(run_url)
    complete = (run.dataset() / MANIFEST).exists()
    if finished is not None:
        write_file(run.finished, (json.dumps({"finished": _utc(finished), "complete": complete}) + "\n").encode())
    if not complete:
        return f"{run.scratch} stays: the run is not complete, and its failed tasks can be cleared"
    remove_folder(run.scratch)
    return f"{run.scratch} is removed: the run is complete"


def _start_over(run: Run, domain: str) -> None:
    for folder in (run.judged(domain), run.products / domain):
        remove_folder(folder)
    for path in _plans(run, domain):
        path.unlink()


def _plans(run: Run, domain: str) -> list[Path]:
    folder = run.scratch / "plan"
    return [folder / name for name in files_in(folder) if name.rpartition("-")[0] == domain]


@contextmanager
def _world(run: Run, domain: str) -> Iterator[Path]:
    """Yield the environment of a domain on this machine. DatasetError if the scratch of the run is gone."""
    if not (run.world(domain) / ADMISSION).exists():
        raise DatasetError(
            f"{run.world(domain)} is gone, as after a complete run; "
            f"clear {airflow_task(domain, 'build')} with all that follows it"
        )
    with local_copy(run.world(domain)) as world:
        yield world


def _ordered(order: Order, environment: Environment) -> Recipe:
    """Return what a run asks of a domain. UsageError if it cannot be."""
    return recipe_of(
        environment,
        tasks=order.tasks,
        seed=order.seed,
        evolved=order.evolved,
        turns=order.turns,
        answer=order.answer,
        max_candidates=order.limits().max_candidates,
    )


def _recipe(run: Run, world: Path) -> Recipe:
    """Return what a domain of the run is asked for. UsageError if code, libraries or environment are not those with
    which the run began."""
    order, environment = run.order(), load_environment(world)
    recipe = _ordered(order, environment)
    if recipe.inputs != _begun(run.scratch / "recipes" / f"{environment.domain}.json"):
        raise UsageError(
            f"run {order.run_id}: code or libraries are not those with which "
            f"{airflow_task(environment.domain, 'build')} ran; deploy the same on every worker and clear that task"
        )
    return recipe


def _begun(recipe: Path) -> object:
    """Return the inputs with which a domain was built; None if it was not, or a crash has left nothing of the file."""
    with suppress(DatasetError):
        return read_json(recipe, "clear the task `build`").get("inputs") if recipe.exists() else None
    return None


def _write_rejects(run: Run, world: Path, shard: str, rejects: list[tuple[Any, Shard]]) -> None:
    environment, order = load_environment(world), run.order()
    write_rejects(
        run.rejects(environment.domain, shard),
        rejects,
        environment.hash,
        {"dag_id": order.dag_id, "run_id": order.run_id},
    )


def _write_late_rejects(run: Run, world: Path, domain: str, paths: list[Path]) -> None:
    """Write the rejects that no shard could: those of the last rounds, which were judged here, and those that only
    novelty rejects."""
    plans = [read_shard_plan(path) for path in _plans(run, domain)]
    here = Shard(f"{domain}-rest", domain, len(plans), airflow_task(domain, "assemble"), -1, ())
    shards = {number: shard for shard in plans for number in shard.numbers}
    rest, novel = [], []
    for item in apply_novelty(read_judged(paths)[1]):
        shard, failed = shards.get(item.candidate.number, here), [gate.gate for gate in item.verdict.failed]
        if failed == ["novel"]:
            novel.append((item, shard))
        elif failed and shard is here:
            rest.append((item, shard))
    _write_rejects(run, world, here.name, rest)
    _write_rejects(run, world, "novel", novel)


def _summary(dataset: Path, manifest: Manifest) -> dict[str, Any]:
    return {
        "dataset": url_of(dataset),
        "counts": {name: manifest.counts[name] for name in ("asked", "accepted", "rejected", "candidates")},
    }


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")
