from collections import Counter
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from planner.cost_model.features import family_of
from planner.cost_model.training_rows import component_of
from planner.pipeline.data import StudyData, load_study_data
from planner.pipeline.sweeping import sweep_study
from planner.pipeline.workspace import open_workspace
from planner.progress import Progress, QuietProgress, Stage
from planner.study import Study, SweepSection, load_study
from profiles.component import Component
from profiles.errors import InputError
from profiles.hardware import LOCAL_CPU
from profiles.store import ProfileStore
from tests.planner.cost_model.sampling.synthetic_executor import SyntheticExecutor
from tests.planner.cost_model.synthetic import FINGERPRINT, linears, profile_of


class Heard(Progress):
    def __init__(self) -> None:
        self.messages: list[str] = []

    def stage(self, title: str, total: int | None = None) -> AbstractContextManager[Stage]:
        return QuietProgress().stage(title, total)

    def say(self, message: str) -> None:
        self.messages.append(message)


def even_ms(component: Component) -> float:
    del component
    return 1.0


@pytest.fixture(scope="module")
def study(study_file: Path) -> Study:
    return load_study(study_file)


@pytest.fixture(scope="module")
def data(study: Study) -> StudyData:
    return load_study_data(study)


def test_an_adaptive_study_tells_what_became_of_each_family(study: Study, data: StudyData, tmp_path: Path) -> None:
    adaptive = replace(study, sweep=SweepSection(batches=(1, 64), adaptive=True, goal=0.5))
    heard, workspace = Heard(), open_workspace(tmp_path)
    result = sweep_study(adaptive, data, workspace, heard, SyntheticExecutor(even_ms))[LOCAL_CPU]
    families = {family_of(component_of(row)) for row in ProfileStore(workspace.profiles).load()}
    assert {"linear", "dhe_encoder(uniform)"} <= families
    assert result.measured == len(ProfileStore(workspace.profiles).load())
    assert {message.split(":")[0] for message in heard.messages} == families
    again = sweep_study(adaptive, data, workspace, heard, SyntheticExecutor(even_ms))[LOCAL_CPU]
    assert again.measured == 0


def test_an_adaptive_sweep_ends_with_its_points(study: Study, data: StudyData, tmp_path: Path) -> None:
    adaptive = replace(study, sweep=SweepSection(batches=(1, 64), adaptive=True, goal=0.001, points=3))
    heard = Heard()
    sweep_study(adaptive, data, open_workspace(tmp_path), heard, SyntheticExecutor(even_ms))
    kinds = Counter(row.kind for row in ProfileStore(open_workspace(tmp_path).profiles).load())
    assert max(kinds.values()) == 3
    assert any(message.endswith("too few for a model, stopped by points") for message in heard.messages)


def test_a_sweep_says_which_rows_are_of_another_set_up(study: Study, data: StudyData, tmp_path: Path) -> None:
    heard, workspace = Heard(), open_workspace(tmp_path)
    (component,) = linears([(2, 2)], batches=(1,))
    ProfileStore(workspace.profiles).append(profile_of(component, 1.0, fingerprint=replace(FINGERPRINT, threads=9)))
    sweep_study(study, data, workspace, heard, SyntheticExecutor(even_ms))
    assert heard.messages[0].endswith("1 row of local-cpu with threads 9 (now 1): not used, measuring anew")


def test_families_of_a_calibration_are_not_measured(study: Study, data: StudyData, tmp_path: Path) -> None:
    calibration, workspace = tmp_path / "calibration", open_workspace(tmp_path / "out")
    (component,) = linears([(2, 2)], batches=(1,))
    ProfileStore(calibration).append(profile_of(component, 1.0))
    pointed = replace(study, sweep=replace(study.sweep, profiles=str(calibration)))
    heard = Heard()
    sweep_study(pointed, data, workspace, heard, SyntheticExecutor(even_ms))
    kinds = {row.kind for row in ProfileStore(workspace.profiles).load()}
    assert heard.messages[0].startswith(f"{calibration}: has the families of ")
    assert "dhe_encoder" in kinds
    assert "linear" not in kinds


def test_a_goal_is_a_share() -> None:
    with pytest.raises(InputError, match="goal: must be in"):
        SweepSection(goal=5)
