from pathlib import Path

import pytest

from planner.cost_model.sampling import (
    AdaptiveResult,
    Dimension,
    SamplingBudget,
    SamplingSpace,
    adaptive_sweep,
    calibration_spaces,
)
from planner.cost_model.sampling.adaptive import SamplingProgress
from profiles.component import Component
from profiles.errors import InputError
from profiles.store import ProfileStore
from profiles.sweep import SweepOptions
from representations.provider import RecommendationProvider
from tests.planner.cost_model.sampling.synthetic_executor import SyntheticExecutor
from tests.planner.cost_model.synthetic import roofline_ms

(LINEAR,) = calibration_spaces(["linear"])
RELU = next(space for space in calibration_spaces(["elementwise"]) if "relu" in space.family)
SMALL = SamplingSpace(
    kind="linear",
    dimensions=(
        Dimension(name="batch", values=(1, 2)),
        Dimension(name="in_features", values=(4, 8)),
        Dimension(name="out_features", values=(4,)),
    ),
)


def wild_ms(component: Component) -> float:
    """Nothing that a model could learn."""
    return roofline_ms(component) * (1 + int(component.content_hash("")[:4], 16) / 65536)


def sampled(
    folder: Path, *spaces: SamplingSpace, executor: SyntheticExecutor | None = None, **budget: float
) -> AdaptiveResult:
    return adaptive_sweep(
        spaces,
        RecommendationProvider(),
        ProfileStore(folder),
        executor=executor or SyntheticExecutor(roofline_ms),
        budget=SamplingBudget(**{"points": 40, "first": 12, **budget}),  # type: ignore[arg-type]  # whole numbers
    )


def test_a_family_that_is_easily_learned_stops_at_the_goal(tmp_path: Path) -> None:
    (linear,) = sampled(tmp_path, LINEAR).families
    assert (linear.family, linear.stopped) == ("linear", "goal")
    assert linear.points < 40
    assert linear.error is not None
    assert linear.error < 0.05
    assert linear.curve[-1] == (linear.points, linear.error)


def test_one_that_is_not_goes_on_to_its_budget(tmp_path: Path) -> None:
    executor = SyntheticExecutor(wild_ms)
    (linear,) = sampled(tmp_path, LINEAR, executor=executor).families
    assert (linear.stopped, linear.points) == ("points", 40)
    assert executor.rounds == [12, 8, 8, 9, 3]
    assert [points for points, _ in linear.curve] == [12, 20, 28, 37, 40]


def test_families_of_a_kind_share_its_points_and_go_on_together(tmp_path: Path) -> None:
    executor = SyntheticExecutor(wild_ms)
    mish = next(space for space in calibration_spaces(["elementwise"]) if "mish" in space.family)
    families = sampled(tmp_path, RELU, mish, executor=executor).families
    assert [one.family for one in families] == ["elementwise(mish)", "elementwise(relu)"]
    assert sum(one.points for one in families) == 40
    assert executor.rounds[0] == 24


def test_a_sweep_goes_on_from_what_the_store_holds(tmp_path: Path) -> None:
    executor = SyntheticExecutor(wild_ms)
    sampled(tmp_path, LINEAR, executor=executor, points=12)
    again = sampled(tmp_path, LINEAR, executor=executor)
    assert executor.rounds == [12, 8, 8, 9, 3]
    assert again.sweep.measured == 28
    assert again.families[0].points == 40
    assert sampled(tmp_path, LINEAR, executor=executor).sweep.measured == 0


def test_equal_seeds_measure_equal_components(tmp_path: Path) -> None:
    for name in ("a", "b"):
        sampled(tmp_path / name, LINEAR, executor=SyntheticExecutor(wild_ms))
    first, second = (ProfileStore(tmp_path / name).known() for name in ("a", "b"))
    assert first == second


def test_a_small_space_is_exhausted(tmp_path: Path) -> None:
    (family,) = sampled(tmp_path, SMALL).families
    assert (family.points, family.stopped, family.error) == (4, "end of space", None)


def test_time_ends_a_sweep_as_well(tmp_path: Path) -> None:
    result = adaptive_sweep(
        [LINEAR],
        RecommendationProvider(),
        ProfileStore(tmp_path),
        executor=SyntheticExecutor(wild_ms),
        budget=SamplingBudget(points=1000, first=10),
        seconds_in_all=0.5,
    )
    assert result.families[0].stopped == "time"
    assert 10 <= result.families[0].points < 1000


def test_many_families_begin_whatever_the_time_in_all(tmp_path: Path) -> None:
    result = adaptive_sweep(
        calibration_spaces(["linear", "elementwise", "concat", "interaction", "projection"]),
        RecommendationProvider(),
        ProfileStore(tmp_path),
        executor=SyntheticExecutor(wild_ms),
        budget=SamplingBudget(points=20, first=1),
        seconds_in_all=60,
    )
    assert min(one.points for one in result.families) >= 1


def test_progress_names_the_worst_family(tmp_path: Path) -> None:
    seen: list[SamplingProgress] = []
    adaptive_sweep(
        [LINEAR],
        RecommendationProvider(),
        ProfileStore(tmp_path),
        executor=SyntheticExecutor(wild_ms),
        budget=SamplingBudget(points=20, first=12),
        progress=seen.append,
    )
    assert {(now.round, now.open_families, now.worst) for now in seen} == {(1, 1, "linear"), (2, 1, "linear")}
    assert seen[0].worst_error is None
    assert seen[-1].worst_error is not None


@pytest.mark.parametrize("bad", [{"goal": 0}, {"points": 0}, {"seconds": -1}, {"first": 0}])
def test_a_budget_of_nothing_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(InputError, match="sampling: "):
        SamplingBudget(**bad)  # type: ignore[arg-type]  # one value of either type


def test_real_components_are_measured(tmp_path: Path) -> None:
    options = SweepOptions(seconds_per_visit=0.001, min_samples=2, max_samples=4, least_gap_s=0.0)
    budget = SamplingBudget(points=10, first=8)
    spaces = [SMALL, *calibration_spaces(["id_split"])]
    result = adaptive_sweep(spaces, RecommendationProvider(), ProfileStore(tmp_path), options=options, budget=budget)
    points = {one.kind: one.points for one in result.families}
    # Sampling ends early where the goal is reached, which is up to the machine.
    assert points["linear"] == 4
    assert 8 <= points["id_split"] <= 10
