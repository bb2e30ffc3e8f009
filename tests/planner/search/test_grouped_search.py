import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from planner.pipeline.judging import JudgedPredictor
from planner.search import Predicted, SearchResult, SearchTask, Trained, front_chart, front_frame, run_search
from planner.search.capacity_estimate import QueryRows
from planner.search.cost_columns import CostColumns, JudgedDevice, ServedLoad
from planner.search.front_screening import FrontScreening
from planner.search.repricing import repriced
from planner.search.screening import screen
from planner.study import GroupSection, SearchSection, SpaceSection
from profiles.errors import InfeasibleError, InputError
from representations.specs import ModelSpec
from tests.planner.search.closed_form import SMALL_SPACE, make_task
from tests.planner.search.closed_form import predict as closed_form
from tests.planner.search.grouped import SECTION, make_cost_model, make_pricer

OBJECTIVES = ("auc", "latency_ms", "peak_memory_bytes")
BOTH = SpaceSection(representation=("table",), dim=(4, 8), device=("v100", "h200"))


def one(spec: ModelSpec) -> Predicted:
    return Predicted(latency_ms={"v100": 1.0}, parameter_bytes=spec.parameter_bytes, flops=1.0)


def predictor(*wanted: str, memory_bytes: int | None = None) -> JudgedPredictor:
    return JudgedPredictor(one=one, by_column=make_pricer(*wanted), memory_bytes=memory_bytes)


class Trainings:
    """Larger models are better; keeps the names of what it trained."""

    def __init__(self) -> None:
        self.models: list[ModelSpec] = []

    def __call__(self, spec: ModelSpec, seed: int) -> Trained:
        del seed
        self.models.append(spec.renamed(""))
        auc = 0.9 - 1000 / (10_000 + spec.parameter_bytes)
        return Trained(auc=auc, log_loss=1 - auc, accuracy=auc, seconds=0.01)


def grouped_task(space: SpaceSection = SECTION, **constraints: float | str) -> SearchTask:
    section = SearchSection(space=space, objectives=OBJECTIVES, constraints=constraints)
    return make_task(section, latency_device="v100", latency_batch=64)


def searched(task: SearchTask, directory: Path, trials: int, trainings: Trainings | None = None) -> SearchResult:
    predict = predictor("peak_memory_bytes")
    return run_search(task, predict, trainings or Trainings(), directory=directory, trials=trials, sampler="guided")


def test_a_space_by_groups_is_searched_by_costs_of_every_name(tmp_path: Path) -> None:
    result = searched(grouped_task(), tmp_path, trials=6)
    assert len(result.feasible) == 6
    assert result.hypervolume > 0
    for trial in result.feasible:
        assert trial.choices.keys() >= {"large.representation", "small.representation", "dim"}
        assert trial.value("peak_memory_bytes", "v100") > trial.parameter_bytes
    assert result.pareto
    frame = result.frame()
    assert frame["peak_memory_bytes"].null_count() == 0
    assert json.loads(frame["choices"][0]) == result.trials[0].choices
    assert frame["representation"].to_list() == [trial.model.representation for trial in result.trials]
    assert front_chart(front_frame(result)).to_dict()


def test_a_small_space_of_whole_models_is_judged_by_every_cost_too(tmp_path: Path) -> None:
    section = SearchSection(
        space=SMALL_SPACE, objectives=("auc", "capacity_qps", "energy_j"), constraints={"latency_p99_ms": 50.0}
    )
    task = make_task(section, latency_device="v100", latency_batch=64)
    rows = QueryRows(share_R=np.ones(1), sla_ms_R=np.full(1, 50.0), percentile=99.0)
    load = ServedLoad(size_R=np.array([64.0]), rows=rows)
    priced = replace(make_pricer(), wanted=("capacity_qps", "energy_j", "latency_p99_ms"), load=load)
    predict = JudgedPredictor(one=one, by_column=priced, memory_bytes=None)
    screening = screen(task, predict)
    least = min(entry.costs["capacity_qps"] for entry in screening.screened)
    assert screening.dearest["capacity_qps"] == least > 0
    result = run_search(task, predict, Trainings(), directory=tmp_path, trials=2, sampler="guided")
    assert set(result.reference) == {"auc", "capacity_qps", "energy_j"}
    assert result.hypervolume > 0


def test_it_resumes_and_is_priced_anew_alike(tmp_path: Path) -> None:
    task = grouped_task()
    first = searched(task, tmp_path, trials=3)
    trainings = Trainings()
    both = searched(task, tmp_path, trials=5, trainings=trainings)
    assert both.trials[: len(first.trials)] == first.trials
    assert len(trainings.models) == 2
    assert repriced(both, task, predictor("peak_memory_bytes")).trials == both.trials


def test_what_is_too_dear_is_recorded_with_its_costs_and_never_trained(tmp_path: Path) -> None:
    trainings = Trainings()
    result = searched(grouped_task(parameter_bytes="40 kB"), tmp_path, trials=20, trainings=trainings)
    ruled_out = [trial for trial in result.trials if trial.state == "infeasible"]
    assert ruled_out
    assert all("parameter_bytes" in trial.reason for trial in ruled_out)
    assert all(model.parameter_bytes <= 40_000 for model in trainings.models)


def test_a_model_is_trained_once_for_all_devices(tmp_path: Path) -> None:
    section = SearchSection(space=BOTH, objectives=("auc", "latency_ms"))
    task = make_task(section, latency_device="v100", latency_batch=64)
    devices = {name: JudgedDevice(name=name, memory_bytes=10**9) for name in BOTH.device}
    price = CostColumns(
        cost_model=make_cost_model(*BOTH.device), devices=devices, device="v100", batch=64, wanted=("memory_share",)
    )
    trainings = Trainings()
    predict = JudgedPredictor(one=one, by_column=price, memory_bytes=None)
    result = run_search(task, predict, trainings, directory=tmp_path, trials=4, sampler="guided")
    assert len(result.feasible) == 4
    assert len(trainings.models) == 2
    assert {trial.choices["device"] for trial in result.pareto} == {"h200"}


def test_a_large_flat_space_is_screened_by_column_where_that_is_possible() -> None:
    section = SearchSection(space=SpaceSection(dim=tuple(range(1, 13)), dhe_k=tuple(range(1, 13))))
    screening = screen(make_task(section), predictor(), 40)
    assert screening.front is not None
    assert screening.front.screened == 12 + 3 * 12 * 12 * 2
    assert len(screening.feasible) <= 40
    assert screening.dearest == dict(screening.front.dearest)
    few = FrontScreening(objectives=section.objectives, most=100, keep=10)
    assert len(screen(make_task(section), predictor(), 40, front=few).feasible) <= 10


def test_a_device_that_nothing_fits_is_named_with_what_is_missing() -> None:
    complaint = r"nothing of the search space fits 'v100': the smallest candidate takes [\d,]+ bytes, [\d,]+ more"
    with pytest.raises(InfeasibleError, match=complaint):
        screen(grouped_task(), predictor("peak_memory_bytes", memory_bytes=1000))
    task = make_task(SearchSection(space=SMALL_SPACE), latency_device="cpu")
    small = JudgedPredictor(one=closed_form, by_column=make_pricer(), memory_bytes=1000)
    with pytest.raises(InfeasibleError, match="fits 'cpu'"):
        screen(task, small)


def test_contradicting_limits_of_groups_are_named_with_the_nearest_candidate() -> None:
    task = grouped_task(parameter_bytes="10 kB", peak_memory_bytes="1 MB")
    with pytest.raises(InfeasibleError, match=r"none has parameter_bytes <= 10,000; nearest is .*% above"):
        screen(task, predictor("peak_memory_bytes"))


def test_a_predictor_of_single_models_cannot_price_groups() -> None:
    with pytest.raises(InputError, match="need costs by column"):
        screen(grouped_task(SpaceSection(groups=(GroupSection(),))), closed_form)
