"""Measure the components of a study's candidates on every device of the study that is here."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from planner.cost_model.features import family_of
from planner.cost_model.sampling import SamplingBudget, spaces_of
from planner.cost_model.sampling.adaptive import SamplingProgress, adaptive_sweep
from planner.cost_model.traffic import in_context
from planner.cost_model.training_rows import component_of
from planner.cost_model.whole_models import WholeModelProvider, WithWholeModels
from planner.pipeline.data import StudyData
from planner.pipeline.profile_sources import calibrated_rows, calibration_notes
from planner.pipeline.workspace import Workspace
from planner.progress import Progress
from planner.search import build_candidate, enumerate_choices
from planner.search.search_space import search_space
from planner.search.space_candidate import sample_models
from planner.study import Study, SweepSection
from profiles.component import Component
from profiles.executors import Executor
from profiles.hardware import LOCAL_CPU
from profiles.providers import ComponentProvider
from profiles.records import Fingerprint
from profiles.setups import other_setups
from profiles.store import ProfileStore
from profiles.sweep import SweepOptions, SweepProgress, SweepResult, sweep
from representations.components import components_of, work_of
from representations.provider import RecommendationProvider
from representations.specs import ModelSpec

__all__ = ["candidate_models", "measured_kinds", "study_components", "sweep_options", "sweep_study"]

# A space larger than this is represented by a sample; the cost model fills in the rest.
MOST_CANDIDATES = 400
# Contended visits of a component that are thrown away.
_RETAKES = 2
# How near to each other the two fastest visits must be, and how many are made for that; rounds lie so far apart.
_AGREEMENT = 0.02
_MOST_VISITS = 5
# How much slower than ever the core's probe may be while samples are taken.
_QUIET_CORE = 0.25
_LEAST_GAP_S = 0.1
# Long calls are sampled less often, and visited no more for agreement after so many times the time of a usual visit.
_MOST_CALLS = 200
_MIN_SAMPLES = 3
# All that a study measures in one group, where memory allows: the farther apart visits are, the fewer share a spell.
_GROUP_SIZE = 1024
_ALL = 10**6


def candidate_models(study: Study, data: StudyData) -> tuple[ModelSpec, ...]:
    """The models of the study's search space, or a seeded sample of them where there are many."""
    section = study.search.space
    if not section.is_flat:
        space = search_space(section, data.features, data.dense_features, study.model)
        return sample_models(space, MOST_CANDIDATES, study.seed)
    choices = enumerate_choices(section, MOST_CANDIDATES, study.seed)
    return tuple(build_candidate(one, data.features, data.dense_features, study.model) for one in choices)


def study_components(
    models: Sequence[ModelSpec], section: SweepSection, zipf: Mapping[str, float]
) -> tuple[Component, ...]:
    """The distinct components of the models at the section's batches, at most `section.components` of them.

    Tables are those behind the traffic of their models' activations.
    Where there are more, the families of components take turns, each spread over its shapes and batches.
    """
    distinct = {
        placed.component: None
        for model in models
        for batch in section.batches
        for placed in in_context(components_of(model, batch, zipf=zipf), work_of)
    }
    if len(distinct) <= section.components:
        return tuple(distinct)
    families: dict[str, list[Component]] = defaultdict(list)
    for component in distinct:
        families[family_of(component)].append(component)
    # Hashes scatter, so a prefix of their order is a sample, and the same one in every run.
    ordered = [sorted(family, key=lambda one: one.content_hash("")) for _, family in sorted(families.items())]
    turns = (component for turn in zip_longest(*ordered) for component in turn if component is not None)
    return tuple(component for component, _ in zip(turns, range(section.components), strict=False))


def measured_kinds(study: Study, executor: Executor | None = None) -> tuple[str, ...]:
    """The kinds of the study's devices that the executor, by default this machine, can measure, each once."""
    from profiles.executors.in_process import InProcessExecutor

    here = (executor or InProcessExecutor()).devices()
    return tuple(dict.fromkeys(device.kind for device in study.devices if device.kind in here))


def sweep_options(study: Study) -> SweepOptions:
    """How the study wants its components measured."""
    section = study.sweep
    return SweepOptions(
        threads=section.threads,
        visits=section.visits,
        seconds_per_visit=section.milliseconds_per_visit / 1e3,
        seed=study.seed,
        retakes=_RETAKES,
        agreement=_AGREEMENT,
        quiet_core=_QUIET_CORE,
        most_visits=_MOST_VISITS * section.visits,
        most_call_seconds=_MOST_CALLS * section.milliseconds_per_visit / 1e3,
        min_samples=_MIN_SAMPLES,
        least_gap_s=_LEAST_GAP_S,
        group_size=_GROUP_SIZE,
    )


def sweep_study(
    study: Study,
    data: StudyData,
    workspace: Workspace,
    progress: Progress,
    executor: Executor | None = None,
    *,
    models: WholeModelProvider | None = None,
    batches: Sequence[int] = (),
) -> Mapping[str, SweepResult]:
    """Measure the components that the store does not have yet, on each kind of device in turn.

    Where the store holds rows of another set-up, what differs is said, and everything is measured anew. Families that
    the study's calibration holds are left to it. On this machine's processor, whole `models` at the `batches` are
    visited in turn with the components, but not in an adaptive sweep.

    Raises:
        StorageError: a row cannot be written; finished rows stay.
    """
    from profiles.executors.in_process import InProcessExecutor

    section = replace(study.sweep, components=_ALL) if study.sweep.adaptive else study.sweep
    components = study_components(candidate_models(study, data), section, data.zipf)
    results: dict[str, SweepResult] = {}
    for kind in measured_kinds(study, executor):
        run = _KindSweep(
            study=study,
            kind=kind,
            store=ProfileStore(workspace.profiles),
            progress=progress,
            executor=executor or InProcessExecutor(),
            models=models if models and models.specs and kind == LOCAL_CPU else None,
            batches=batches,
        )
        run.tell_other_setups()
        held = {family_of(component_of(row)) for row in calibrated_rows(study, kind, run.fingerprint)}
        wanted = [component for component in components if family_of(component) not in held]
        if left := len(components) - len(wanted):
            progress.say(
                f"{section.profiles}: has the families of {left} of {len(components)} components: not measured"
            )
        results[kind] = run.measure(wanted)
    return results


@dataclass(frozen=True, kw_only=True, slots=True)
class _KindSweep:
    """The sweep of one kind of device."""

    study: Study
    kind: str
    store: ProfileStore
    progress: Progress
    executor: Executor
    models: WholeModelProvider | None = None
    batches: Sequence[int] = ()

    @property
    def fingerprint(self) -> Fingerprint:
        """What is measured now will carry."""
        return self.executor.fingerprint(self.kind, self.study.sweep.threads)

    def tell_other_setups(self) -> None:
        """Say which rows of the store, or of the calibration, do not count, and why."""
        for other in other_setups(self.store.load(), self.fingerprint):
            self.progress.say(f"{self.store.directory}: {other}: not used, measuring anew")
        for note in calibration_notes(self.study, self.kind, self.fingerprint):
            self.progress.say(f"{note}, measuring anew")

    def measure(self, components: Sequence[Component]) -> SweepResult:
        """All of them, or where they are few enough to tell of the rest."""
        return self._adaptive(components) if self.study.sweep.adaptive else self._all(components)

    def _all(self, components: Sequence[Component]) -> SweepResult:
        provider: ComponentProvider = RecommendationProvider()
        whole: tuple[Component, ...] = ()
        if self.models:
            provider = WithWholeModels(parts=provider, models=self.models)
            whole = self.models.components(self.batches)
        beside = f" and {len(self.models.specs)} whole models" if self.models else ""
        title = f"measuring {len(components)} components{beside} on {self.kind}"
        with self.progress.stage(title, len(components) + len(whole)) as stage:
            return sweep(
                (*components, *whole),
                provider,
                self.store,
                device=self.kind,
                executor=self.executor,
                options=sweep_options(self.study),
                progress=lambda now: stage.update(now.done, now.total, _left(now)),
            )

    def _adaptive(self, components: Sequence[Component]) -> SweepResult:
        section, spaces = self.study.sweep, spaces_of(components, work_of)
        title = f"sampling {len(spaces)} families, spanned by {len(components)} components, on {self.kind}"
        with self.progress.stage(title) as stage:

            def tell(now: SamplingProgress) -> None:
                error = "" if now.worst_error is None else f", worst {now.worst} at {100 * now.worst_error:.1f} %"
                note = f"round {now.round}, {now.open_families} families{error}, {_left(now.sweep)}"
                stage.update(now.sweep.done, now.sweep.total, note)

            result = adaptive_sweep(
                spaces,
                RecommendationProvider(),
                self.store,
                device=self.kind,
                executor=self.executor,
                options=sweep_options(self.study),
                budget=SamplingBudget(goal=section.goal, points=section.points, seconds=section.seconds),
                progress=tell,
            )
        for one in result.families:
            error = "too few for a model" if one.error is None else f"error {100 * one.error:.1f} %"
            self.progress.say(f"{one.family}: {one.points} points, {error}, stopped by {one.stopped}")
        return result.sweep


def _left(now: SweepProgress) -> str:
    skipped = f", {now.skipped} skipped" if now.skipped else ""
    return f"{now.visits_left} visits left{skipped}"
