import os
from collections.abc import Iterator

import pytest

from planner.cost_model.fitter import Fitter, fitting_on
from planner.cost_model.generalisation import extrapolation
from planner.cost_model.learning_curve import learning_curve
from planner.cost_model.model import FittedDeviceModel, fit_device_model
from representations.components import work_of
from tests.benchmarks.space_filling import design
from tests.planner.cost_model.imagined_machine import machine_ms
from tests.planner.cost_model.synthetic import profiles_of


@pytest.fixture(scope="module")
def processes() -> Iterator[Fitter]:
    with fitting_on(2, patience_s=0.0) as fitter:
        yield fitter


def model() -> FittedDeviceModel:
    return fit_device_model(profiles_of(design("linear", 60), machine_ms, noise=0.03), work_of)


def at_process(number: int, divisor: int) -> tuple[int, int]:
    return os.getpid(), number // divisor


def test_one_worker_fits_here_and_in_order() -> None:
    with fitting_on(1) as fitter:
        assert fitter.each(at_process, [(9, 3), (4, 2)]) == [(os.getpid(), 3), (os.getpid(), 2)]


def test_short_fits_start_no_process() -> None:
    with fitting_on(2) as fitter:
        assert {process for process, _ in fitter.each(at_process, [(number, 1) for number in range(6)])} == {
            os.getpid()
        }


def test_tasks_are_shared_with_other_processes_and_keep_the_order(processes: Fitter) -> None:
    found = processes.each(at_process, [(number, 1) for number in range(100)])
    assert [number for _, number in found] == list(range(100))
    assert {process for process, _ in found} > {os.getpid()}


@pytest.mark.parametrize("place", [0, 9])
def test_what_goes_wrong_anywhere_is_raised_here(processes: Fitter, place: int) -> None:
    tasks = [(1, 1)] * 10
    tasks[place] = (1, 0)
    with pytest.raises(ZeroDivisionError):
        processes.each(at_process, tasks)


def test_processes_find_what_one_finds(processes: Fitter) -> None:
    one, other = model(), model()
    alone = Fitter()
    other.families.fit_all(processes)
    assert learning_curve(one, seed=0, sizes=(8,), fitter=alone) == learning_curve(
        other, seed=0, sizes=(8,), fitter=processes
    )
    (here,), (there,) = extrapolation(one, seed=0), extrapolation(other, seed=0, fitter=processes)
    assert here.predicted_ms.tolist() == there.predicted_ms.tolist()
    assert (
        one.families["linear"].held_out.predicted_ms.tolist() == other.families["linear"].held_out.predicted_ms.tolist()
    )
