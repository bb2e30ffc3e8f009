"""Measure the components of a study's candidates on every device of the study that is here."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from planner.cost_model.features import family_of
from planner.cost_model.traffic import in_context
from planner.pipeline.data import StudyData
from planner.pipeline.workspace import Workspace
from planner.progress import Progress
from planner.search import build_candidate, enumerate_choices
from planner.study import Study, SweepSection
from profiles.component import Component
from profiles.executors import Executor
from profiles.store import ProfileStore
from profiles.sweep import SweepOptions, SweepProgress, SweepResult, sweep
from representations.components import components_of, work_of
from representations.provider import RecommendationProvider
from representations.specs import ModelSpec

__all__ = ["candidate_models", "measured_kinds", "study_components", "sweep_options", "sweep_study"]

# A space larger than this is represented by a sample; the cost model fills in the rest.
MOST_CANDIDATES = 400


def candidate_models(study: Study, data: StudyData) -> tuple[ModelSpec, ...]:
    """The models of the study's search space, or a seeded sample of them where there are many."""
    choices = enumerate_choices(study.search.space, MOST_CANDIDATES, study.seed)
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
    )


def sweep_study(
    study: Study,
    data: StudyData,
    workspace: Workspace,
    progress: Progress,
    executor: Executor | None = None,
) -> Mapping[str, SweepResult]:
    """Measure the components that the store does not have yet, on each kind of device in turn.

    Raises:
        StorageError: a row cannot be written; finished rows stay.
    """
    components = study_components(candidate_models(study, data), study.sweep, data.zipf)
    store = ProfileStore(workspace.profiles)
    kinds = measured_kinds(study, executor)
    return {kind: _sweep_kind(study, kind, components, store, progress, executor) for kind in kinds}


def _sweep_kind(
    study: Study,
    kind: str,
    components: Sequence[Component],
    store: ProfileStore,
    progress: Progress,
    executor: Executor | None,
) -> SweepResult:
    with progress.stage(f"measuring {len(components)} components on {kind}", len(components)) as stage:

        def tell(now: SweepProgress) -> None:
            skipped = f", {now.skipped} skipped" if now.skipped else ""
            stage.update(now.done, now.total, f"{now.visits_left} visits left{skipped}")

        return sweep(
            components,
            RecommendationProvider(),
            store,
            device=kind,
            executor=executor,
            options=sweep_options(study),
            progress=tell,
        )
