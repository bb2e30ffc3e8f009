import random
from pathlib import Path

import pytest

from planner.search.journal import Journal
from planner.search.proposals import Proposals, nearest_choices
from planner.search.screening import screen
from planner.search.space import enumerate_choices
from planner.search.storage import open_study
from planner.search.task import SearchTask
from tests.planner.search.closed_form import SMALL_SPACE, make_task, predict

TASK = make_task()
EVERY = [TASK.candidate(choices) for choices in enumerate_choices(SMALL_SPACE)]


def make_proposals(task: SearchTask, directory: Path, screened: int) -> Proposals:
    objectives = task.section.objectives
    journal = Journal(open_study(directory, objectives), objectives, "cpu")
    return Proposals(task, journal, screen(task, predict, screened), "tpe")


@pytest.mark.parametrize("screened", [1, 512])
@pytest.mark.parametrize("left", [0, 7, -1])
def test_the_last_new_candidate_is_found(tmp_path: Path, screened: int, left: int) -> None:
    last = EVERY[left]
    proposal = make_proposals(TASK, tmp_path, screened).ask({candidate.key for candidate in EVERY} - {last.key})
    assert proposal is not None
    assert proposal[1] == last
    assert proposal[0].params == last.choices


@pytest.mark.parametrize("screened", [1, 512])
def test_a_space_that_is_used_up_proposes_nothing(tmp_path: Path, screened: int) -> None:
    assert make_proposals(TASK, tmp_path, screened).ask({candidate.key for candidate in EVERY}) is None


def test_the_nearest_choices_differ_in_the_fewest_places() -> None:
    offered = [candidate.choices for candidate in EVERY if candidate.choices != EVERY[5].choices]
    nearest = nearest_choices(EVERY[5].choices, offered, random.Random(0))
    assert len(set(nearest.items()) ^ set(EVERY[5].choices.items())) == 2
