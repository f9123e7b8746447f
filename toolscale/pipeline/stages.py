"""The stages from a domain to a dataset: plain functions, path in, path out.

    build_environment -> judge_unit (many, in any order, anywhere) -> assemble

Each is a transaction: what it writes is written under a temporary name and renamed, and what says that it is complete
is written last. Run again after a crash, a stage redoes only what is missing. `synthesize` runs them all on this
machine; a scheduler may run the same functions elsewhere.

Candidates are numbered: number n is the (n // S)-th try of stream n % S of S, an intent as it is written, evolved, or
turned into a refusal. What becomes of a number depends on the environment, the seed and the number alone; novelty and
quotas are applied afterwards, in the order of numbers. So how the numbers were divided among workers never changes a
byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from toolscale.canonical import content_hash
from toolscale.config import POPULATION_SEED
from toolscale.dataset.given import copy_decisions, given_folder, read_given, write_given
from toolscale.dataset.making.judging import Place, close_kept_judges
from toolscale.dataset.making.rounds import Rounds
from toolscale.dataset.making.selection import apply_novelty, count_accepted, select, weights_of
from toolscale.dataset.making.staging import check_place
from toolscale.dataset.making.units import judge_unit, read_judged, units_of
from toolscale.dataset.making.workers import fitting_workers, map_in_workers
from toolscale.dataset.manifest import Recipe, Wanted, current_versions, read_manifest, world_folder
from toolscale.dataset.storage import REPLACED, file_hash, remove_folder, replace_folder, work_folder
from toolscale.dataset.world import ADMISSION, write_world
from toolscale.environment.admission import admit, ensure_admitted
from toolscale.environment.admission_file import read_admission
from toolscale.environment.environment import Environment, inspect_environment, load_environment, sound_part
from toolscale.environment.population import populate
from toolscale.environment.registry import find_folder
from toolscale.errors import DatasetError, SpecError, UsageError
from toolscale.limits import UNLIMITED, RunLimits
from toolscale.package_code import code_hashes
from toolscale.records import Admission, Manifest
from toolscale.records.dataset import MOST_SCALE
from toolscale.sandbox.base import Rows
from toolscale.tasks.binding import streams_of
from toolscale.tasks.check import check_intents, check_rows
from toolscale.verify.cases import check_cases

JUDGED = "judged"
"""The folder of judged candidates in that of a run."""

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and of how much."""


def synthesize(
    domain: str | Path,
    out: Path,
    *,
    tasks: int,
    workers: int | None = None,
    given: Path | None = None,
    limits: RunLimits = UNLIMITED,
    cache: Path | None = None,
    progress: Progress = lambda act, done, total: None,
    **wanted: Unpack[Wanted],
) -> Manifest:
    """Make the dataset `out` of a domain, whole or not at all, and return its manifest.

    `given`: a folder with words or attempts of models. Of the limits, candidates and time are heeded: DeadlineError if
    time ran out before enough was judged. A folder that is already what these arguments give is left as it is. A run
    that was interrupted is completed from the work folder beside `out`.
    """
    environment = load_environment(find_folder(domain))
    recipe = recipe_of(environment, tasks=tasks, given=given, max_candidates=limits.max_candidates, **wanted)
    check_place(out)
    with work_folder(out, "work") as work:  # there may be one of a run that was killed between its last two steps
        if _is_complete(out, recipe):
            return read_manifest(out)
        stage = work / recipe.judging[:16]
        staged, known = stage / recipe.inputs[:16], stage / JUDGED
        for stale in (path for place in (work, stage) if place.is_dir() for path in place.iterdir() if path.is_dir()):
            if stale not in (stage, staged, known):
                remove_folder(stale)
        progress("admitting the environment", 0, 1)
        built, kept = world_folder(staged, environment.domain), cache or work.parent / ".admitted"
        world = build_environment(environment.folder, built, kept, recipe.scale, progress)
        workers = workers or fitting_workers(tasks)
        judged = judge_enough(world, known, recipe=recipe, workers=workers, progress=progress, limits=limits)
        close_kept_judges()  # writing needs memory of its own
        progress("writing", 0, 1)
        manifest = assemble(world, judged, staged, recipe)
        replace_folder(staged, out.resolve(), work / REPLACED)
    return manifest


def admit_domain(
    domain: str | Path, cache: Path | None = None, progress: Progress = lambda act, done, total: None
) -> Admission:
    """Admit a domain for publication: its tools, rules, intents, phrasings, and its verifier cases. Raises SpecError
    with every issue. Tools that are in the cache as they are now are not called again.

    The parts of the domain that have an issue are left out of the later checks. So a fault in one file does not hide
    one in another file, and no fault is told twice.
    """
    environment, issues = inspect_environment(find_folder(domain))
    if environment is None:
        raise SpecError(issues)
    admission: Admission | None = None
    rows: Rows | None = None
    with suppress(SpecError):  # rows that do not fit the schema: admission tells of them
        rows = populate(environment)
    if not any(issue.file == "cases.yaml" for issue in issues):
        try:
            admission = admit(environment, cache, rows, progress)
        except SpecError as error:
            issues += error.issues
    issues += check_intents(environment, issues)
    try:
        issues += check_rows(sound_part(environment, issues), rows)
    except SpecError as error:
        issues += error.issues  # of the rows, which admission has told as well
    issues += [] if issues else check_cases(environment, rows)
    if issues or admission is None:
        raise SpecError(issues)
    return admission


def build_environment(
    domain: str | Path,
    out: Path,
    cache: Path,
    scale: int = 1,
    progress: Progress = lambda act, done, total: None,
) -> Path:
    """Admit a domain and write it, populated at a scale, into `out`. `admission.json` is written last: where it is
    right, nothing is done."""
    environment = load_environment(find_folder(domain))
    if not _is_built(environment, out):
        if issues := check_intents(environment):
            raise SpecError(issues)
        admission = ensure_admitted(environment, cache, progress)
        write_world(environment, populate(environment, POPULATION_SEED, scale), admission, out)
    copy_decisions(environment.folder, out)
    return out


def judge_enough(
    world: Path,
    out: Path,
    *,
    recipe: Recipe,
    workers: int,
    progress: Progress = lambda act, done, total: None,
    limits: RunLimits = UNLIMITED,
) -> list[Path]:
    """Judge candidates, round after round (`Rounds`), until there are enough or no more to be had; return the files.

    Files that are there already are not made again: of a run that was killed, or of shards that were judged elsewhere.
    DeadlineError, with what there is, if more would be needed and the time of `limits` is over.
    """
    rounds, at = Rounds(load_environment(world), recipe), place_of(world, recipe)
    paths: list[Path] = []
    while numbers := rounds.draw():
        units, done = units_of(at, recipe.seed, numbers, out), 0
        progress("judging candidates", done, len(numbers))
        found = map_in_workers(judge_unit, units, workers)
        for unit in units:
            if limits.left_s == 0:
                limits.check_time(so_far(paths, recipe))
            paths.append(next(found))
            done += len(unit.numbers)
            progress("judging candidates", done, len(numbers))
        rounds.add(read_judged(paths[-len(units) :])[1])
    return paths


def so_far(paths: Sequence[Path], recipe: Recipe) -> str:
    """Say how far a run has come whose time is over, and how to go on."""
    no_case, judged = read_judged(paths)
    accepted, drawn = count_accepted(apply_novelty(judged)).total(), len(no_case) + len(judged)
    told = (
        f"{accepted} tasks of {drawn} candidates, {recipe.tasks} were asked for; what is judged is kept: run it again"
    )
    return f"{told} to go on" + (f", or with --max-candidates {drawn} to have the dataset of these" if accepted else "")


def place_of(world: Path, recipe: Recipe) -> Place:
    """Return where the candidates of a recipe are judged."""
    state = f"{file_hash(world / ADMISSION)}{read_given(recipe.given, world).hash}"
    return Place(world, state, recipe.audit, recipe.turns, recipe.answer, recipe.given, recipe.scale)


def recipe_of(
    environment: Environment,
    *,
    tasks: int,
    given: Path | None = None,
    max_candidates: int | None = None,
    **wanted: Unpack[Wanted],
) -> Recipe:
    """Return what a dataset is asked to be. UsageError if it cannot be."""
    asked = Recipe(environment.domain, tasks, given=given, max_candidates=max_candidates, **wanted)
    if asked.tasks < 1:
        raise UsageError(f"--tasks is {asked.tasks}; ask for at least 1")
    if not 0 <= asked.evolved <= 1:
        raise UsageError(f"--evolved is {asked.evolved}; it is a share, from 0 to 1")
    if not 0 <= asked.seed < 2**63:
        raise UsageError(f"--seed is {asked.seed}; choose one from 0 to 2**63 - 1")
    if not 1 <= asked.scale <= MOST_SCALE:
        raise UsageError(f"--scale is {asked.scale}; choose one from 1 to {MOST_SCALE}")
    drawn = asked.toward
    if drawn is not None and not any(drawn.get(stream.name, 1.0) for stream in streams_of(environment)):
        raise UsageError("--toward leaves nothing to draw: each weight is 0")
    share = float(asked.evolved)  # 1 and 1.0 are the same share
    lines = read_given(given, environment.folder).hash
    judging = [asked.seed, asked.audit, asked.turns, asked.answer, asked.scale]
    fixtures = "all" if asked.fixtures is None else asked.fixtures
    weights = None if drawn is None else {name: str(weight) for name, weight in drawn.items()}
    inputs = _inputs(environment, [*judging, tasks, str(share), fixtures, max_candidates, weights], lines)
    return replace(asked, evolved=share, inputs=inputs, judging=_inputs(environment, judging, lines))


def assemble(world: Path, judged: Sequence[Path], out: Path, recipe: Recipe) -> Manifest:
    """Apply novelty and quotas to the candidates in the files `judged` and write the dataset `out`, whose environment
    is `world`, manifest last."""
    from toolscale.dataset.making.folder import write_dataset  # loads Arrow: only now that the workers are done

    environment = load_environment(world)
    no_case, candidates = read_judged(judged)
    weights = weights_of(streams_of(environment), recipe.evolved, recipe.toward)
    selection = select(apply_novelty(candidates), weights, recipe.tasks, no_case)
    if recipe.given is not None:
        given = read_given(recipe.given, world).about_these([each.candidate for each in candidates], environment.hash)
        write_given(given_folder(out, environment.domain), given)
    return write_dataset(out, environment, selection, recipe)


def _is_built(environment: Environment, folder: Path) -> bool:
    admission = read_admission(folder)
    return admission is not None and admission.environment_hash == environment.hash


def _is_complete(out: Path, recipe: Recipe) -> bool:
    """Whether `out` is the dataset of this recipe, every file as its manifest says."""
    try:
        manifest = read_manifest(out)
    except DatasetError:
        return False
    return manifest.inputs == recipe.inputs and all(
        (out / entry.path).is_file() and file_hash(out / entry.path) == entry.sha256 for entry in manifest.files
    )


def _inputs(environment: Environment, asked: Sequence[object], given: str) -> str:
    """Hash everything on which the bytes of a dataset depend: environment, settings, what models and people gave,
    libraries, and the code of this package."""
    made_from = [environment.hash, *asked, current_versions(), list(code_hashes())]
    return content_hash([*made_from, *([given] if given else [])])
