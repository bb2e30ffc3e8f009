from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from planner.cost_model.catalogue import RooflineDeviceModel
from planner.cost_model.composition import CostModel
from planner.pipeline.building import build_trial
from planner.pipeline.data import StudyData, load_study_data
from planner.pipeline.judging import arrival_cv, served_load, study_columns
from planner.pipeline.searching import StudyTrainer, search_task, study_predictor
from planner.pipeline.simulated_capacity import simulated_capacities
from planner.pipeline.sweeping import candidate_models
from planner.progress import LineProgress
from planner.search import Predictor, RungStep, SearchResult, SearchTask, TrialRecord
from planner.search.candidate import Candidate
from planner.search.pricing import predict_choices
from planner.search.screening import screen
from planner.search.space_columns import SpaceModels
from planner.study import GroupSection, SpaceSection, Study, load_study
from profiles.errors import InputError
from profiles.hardware import get_hardware
from representations.components import work_of
from representations.model_file import load_model
from representations.specs import ReducedTableSpec, TableSpec
from serving_sim.plan import Arrivals, QueryClass, Workload

SPACE = SpaceSection(
    dim=(4,),
    groups=(GroupSection(representation=("table",), dtype=("float32", "int8"), kept_rows=(1.0, 0.5)),),
)


@pytest.fixture(scope="module")
def study(study_file: Path) -> Study:
    study = load_study(study_file)
    objectives = ("auc", "latency_ms", "capacity_qps", "peak_memory_bytes")
    return replace(study, search=replace(study.search, space=SPACE, objectives=objectives, constraints={}))


@pytest.fixture(scope="module")
def data(study: Study) -> StudyData:
    return load_study_data(study)


@pytest.fixture(scope="module")
def cost_model(study: Study) -> CostModel:
    model = RooflineDeviceModel(hardware=get_hardware("v100"), work=work_of)
    return CostModel(models={one.name: model for one in study.devices})


def test_a_study_s_candidates_are_priced_by_all_that_it_names(
    study: Study, data: StudyData, cost_model: CostModel
) -> None:
    space = search_task(study, data).space
    costs = study_columns(study, data, cost_model)(SpaceModels(space=space).columns(space.all_codes()))
    assert set(costs) == {"latency_ms", "parameter_bytes", "flops", "capacity_qps", "peak_memory_bytes"}
    assert all(np.isfinite(values).all() for values in costs.values())


def test_one_candidate_is_priced_as_in_its_column(study: Study, data: StudyData, cost_model: CostModel) -> None:
    task, predict = search_task(study, data), study_predictor(study, data, cost_model)
    code = task.space.all_codes()[1]
    candidate = task.candidate(task.space.choices(code))
    costs = predict.by_column(SpaceModels(space=task.space).columns(code[None, :]))
    predicted = predict_choices(task, predict, candidate.choices, candidate.model)
    assert predicted.costs == {name: values[0] for name, values in costs.items()}
    assert predict.memory_bytes == study.devices[0].memory_bytes


def test_each_class_of_queries_keeps_its_own_sla() -> None:
    classes = (QueryClass(name="a", share=0.25, sla_ms=5), QueryClass(name="b", share=0.75, sla_ms=50))
    load = served_load(Workload(qps=100, sla_ms=5, classes=classes, arrivals=Arrivals(process="gamma", cv=2.0)))
    assert load.rows.arrival_cv == 2.0
    assert load.rows.share_R[load.rows.sla_ms_R == 5].sum() == pytest.approx(0.25)


def test_gaps_of_a_trace_count_as_they_come_together(tmp_path: Path) -> None:
    assert arrival_cv(Arrivals()) == 1.0
    rng, file = np.random.default_rng(0), tmp_path / "trace.txt"
    means = np.repeat(np.where(np.arange(600) % 2, 0.2, 1.8), 100)
    np.savetxt(file, np.cumsum(rng.exponential(means)))
    assert arrival_cv(Arrivals(process="trace", source=str(file))) > 5


def test_all_of_a_space_by_groups_is_measured(study: Study, data: StudyData) -> None:
    models = candidate_models(study, data)
    kinds = {type(embedding) for model in models for embedding in model.embeddings}
    assert len(models) == 3
    assert kinds == {TableSpec, ReducedTableSpec}


def test_an_int8_candidate_is_trained_and_judged_as_it_is_served(study: Study, data: StudyData) -> None:
    models = candidate_models(study, data)
    (served,) = (one for one in models if any(getattr(e, "dtype", "") == "int8" for e in one.embeddings))
    (whole,) = (one for one in models if all(e == TableSpec(dim=4) for e in one.embeddings))
    trainer = StudyTrainer(splits=data.splits, section=study.search.training)
    int8, float32 = trainer(served, 0), trainer(whole, 0)
    assert int8.auc != float32.auc
    assert int8.auc == pytest.approx(float32.auc, abs=0.02)
    assert int8.test.keys() == float32.test.keys()


def result_of(task: SearchTask, predict: Predictor, candidate: Candidate) -> SearchResult:
    """A search with one trained trial, number 3."""
    predicted = predict_choices(task, predict, candidate.choices, candidate.model)
    record = TrialRecord(
        number=3,
        state="complete",
        choices=candidate.choices,
        model=candidate.model,
        latency_ms=predicted.latency_ms,
        parameter_bytes=predicted.parameter_bytes,
        flops=predicted.flops,
        costs=predicted.costs,
        feasible=True,
        auc=0.7,
        accuracy=0.8,
        log_loss=0.5,
    )
    return SearchResult(objectives=task.section.objectives, latency_device="cpu", trials=(record,))


def test_capacity_by_formulas_is_near_that_of_the_simulator(
    study: Study, data: StudyData, cost_model: CostModel
) -> None:
    study = replace(study, workload=replace(study.workload, arrivals="poisson"))
    task, predict = search_task(study, data), study_predictor(study, data, cost_model)
    result = result_of(task, predict, screen(task, predict).feasible[0])
    (found,) = simulated_capacities(study, data, cost_model, result).values()
    assert found.max_qps == pytest.approx(result.pareto[0].costs["capacity_qps"], rel=0.1)
    unasked = replace(study, search=replace(study.search, objectives=("auc",)))
    assert simulated_capacities(unasked, data, cost_model, result) == {}


def test_an_int8_candidate_is_rebuilt_as_it_is_served(
    study: Study, data: StudyData, cost_model: CostModel, tmp_path: Path
) -> None:
    task, predict = search_task(study, data), study_predictor(study, data, cost_model)
    found = screen(task, predict).feasible
    candidate = next(one for one in found if "int8" in one.choices.values())
    trained = StudyTrainer(splits=data.splits, section=study.search.training)(candidate.model, task.training_seed)
    result = result_of(task, predict, candidate)
    built = build_trial(study, data, cost_model, result, 3, tmp_path, LineProgress())
    assert built.metrics["auc"] == pytest.approx(trained.auc, abs=1e-9)
    assert load_model(built.model).spec == candidate.model


def test_one_training_serves_all_names_of_a_model(study: Study, data: StudyData, tmp_path: Path) -> None:
    trainer = StudyTrainer(splits=data.splits, section=study.search.training, rungs=(0.5, 1.0), carried=tmp_path)
    spec = candidate_models(study, data)[0]
    trainer.train_rung(spec.renamed("on-cpu"), 0, RungStep(rung=0))
    assert len(list(tmp_path.iterdir())) == 1
    carried = trainer.train_rung(spec.renamed("on-gpu"), 0, RungStep(rung=1, after=0))
    assert carried.auc == pytest.approx(trainer(spec, 0).auc, abs=1e-9)


def test_a_training_whose_state_is_torn_begins_again(study: Study, data: StudyData, tmp_path: Path) -> None:
    trainer = StudyTrainer(splits=data.splits, section=study.search.training, rungs=(0.5, 1.0), carried=tmp_path)
    spec = candidate_models(study, data)[0]
    first = trainer.train_rung(spec, 0, RungStep(rung=0))
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"what a full disk left")
    assert trainer.train_rung(spec, 0, RungStep(rung=0)).auc == first.auc


def test_candidates_of_groups_cannot_be_reviewed_by_name(study_file: Path, tmp_path: Path) -> None:
    from planner.review.finding import find_subject

    text = study_file.read_text(encoding="utf-8")
    changed = tmp_path / "groups.toml"
    changed.write_text(text + "\n[[search.space.groups]]\neach = true\n", encoding="utf-8")
    with pytest.raises(InputError, match="have no names of their own"):
        find_subject(f"{changed}:table-d4")
