from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from planner.cost_model.features import family_of
from planner.pipeline.data import StudyData, load_study_data
from planner.pipeline.measuring import validation_models
from planner.pipeline.sweeping import candidate_models, measured_kinds, study_components, sweep_options
from planner.study import Study, SweepSection, load_study
from profiles.errors import InputError


@pytest.fixture(scope="module")
def study(study_file: Path) -> Study:
    return load_study(study_file)


@pytest.fixture(scope="module")
def data(study: Study) -> StudyData:
    return load_study_data(study)


def test_candidates_cover_the_space(study: Study, data: StudyData) -> None:
    models = candidate_models(study, data)
    assert Counter(model.representation for model in models) == {"table": 2, "dhe": 2}


def test_every_candidate_s_components_are_there_when_the_budget_allows(study: Study, data: StudyData) -> None:
    components = study_components(candidate_models(study, data), study.sweep, data.zipf)
    assert len(set(components)) == len(components)
    assert {component.batch for component in components} == {1, 64, 1024}


def test_a_small_budget_is_shared_by_the_families_in_turn(study: Study, data: StudyData) -> None:
    models = candidate_models(study, data)
    families = {family_of(one) for one in study_components(models, study.sweep, data.zipf)}
    section = replace(study.sweep, components=2 * len(families))
    few = study_components(models, section, data.zipf)
    assert Counter(map(family_of, few)) == dict.fromkeys(families, 2)
    assert few == study_components(models[::-1], section, data.zipf)


def test_only_devices_that_are_here_are_measured(study: Study) -> None:
    assert measured_kinds(study) == ("local-cpu",)
    options = sweep_options(replace(study, sweep=SweepSection(threads=2, milliseconds_per_visit=5)))
    assert (options.threads, options.seconds_per_visit) == (2, 0.005)


def test_whole_models_of_every_representation_hold_the_sum_to_account(study: Study, data: StudyData) -> None:
    models = candidate_models(study, data)
    assert Counter(model.representation for model in validation_models(models, 2)) == {"table": 2, "dhe": 2}
    many = [model.renamed(str(i)) for i in range(5) for model in models]
    assert len(validation_models(many, 2)) == 4
    assert len(validation_models(many, 1)) == 2
    assert validation_models(many, 0) == ()


def test_the_study_says_how_many_models_are_measured_whole() -> None:
    assert SweepSection().whole_models == 2
    with pytest.raises(InputError, match=r"whole_models: must be >= 0, but got -1"):
        SweepSection(whole_models=-1)
