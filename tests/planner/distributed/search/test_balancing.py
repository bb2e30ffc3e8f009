"""Packing and improving, on scheduling problems whose answers are known."""

import numpy as np
import pytest

from planner.distributed.search.assignment import Assignment
from planner.distributed.search.balance import balance, is_overfull, repair_memory
from planner.distributed.search.items import NOTHING, Items
from planner.distributed.search.karmarkar_karp import largest_differencing
from planner.distributed.search.packing import Stuck, pack
from tests.planner.distributed.search.jobs import first_options, job_problem


def packed(times: list[float], ranks: int) -> Assignment:
    problem = job_problem(times, ranks)
    state = pack(problem, first_options(problem))
    assert isinstance(state, Assignment)
    return state


def test_longest_first_falls_short_of_the_optimum_where_graham_said_so() -> None:
    assert packed([5, 5, 4, 4, 3, 3, 3], 3).slowest_ms == 11


def test_swaps_reach_the_optimum_from_there() -> None:
    state = packed([5, 5, 4, 4, 3, 3, 3], 3)
    balance(state, 9.0, steps=10)
    assert state.load_P.tolist() == [9, 9, 9]


def test_places_and_loads_agree_after_balancing() -> None:
    state = packed([5, 5, 4, 4, 3, 3, 3], 3)
    balance(state, 9.0, steps=10)
    again = Assignment(state.problem)
    for unit, option in enumerate(state.option_U.tolist()):
        again.put(unit, option, state.places_U[unit])
    assert again.load_P.tolist() == state.load_P.tolist()
    assert again.bytes_PT.tolist() == state.bytes_PT.tolist()


def full_ranks() -> Assignment:
    """29 long jobs and a middling one on rank 0, 30 short ones and an idle one on rank 1; the middling one may move."""
    times = [*(10.0 + i / 1000 for i in range(29)), 5.0, *(1.0 + i / 1000 for i in range(30)), 0.1]
    problem = job_problem(times, 2, rows=[*[10] * 29, 5, *[5] * 30, 150], rank_rows=300)
    state = Assignment(problem)
    for unit, option in enumerate(first_options(problem).tolist()):
        rank = int(problem.item_ms(option)[0] < 5)
        state.put(unit, option, np.array([rank]))
    return state


def test_full_memory_does_not_hide_the_exchange_that_is_left() -> None:
    state = full_ranks()
    before = state.slowest_ms
    balance(state, 0.0, steps=1)
    assert state.slowest_ms == pytest.approx(before - 4.0)
    assert not is_overfull(state)


def test_room_is_told_at_once_as_for_single_exchanges() -> None:
    items = Items(full_ranks())
    assert not items.is_roomy()
    own_I, other_J = items.on([0]), np.append(items.on([1]), NOTHING)
    room_IJ = items.has_room(own_I, other_J, 0, np.ones(len(other_J), dtype=np.int64))
    for i, own in enumerate(own_I.tolist()):
        for j, other in enumerate(other_J.tolist()):
            assert room_IJ[i, j] == items.may_swap(own, other, 0, 1)


def test_differencing_balances_where_longest_first_does_not() -> None:
    problem = job_problem([8, 7, 6, 5, 4], 2)
    differenced = largest_differencing(problem, first_options(problem))
    assert differenced is not None
    assert (packed([8, 7, 6, 5, 4], 2).slowest_ms, differenced.slowest_ms) == (17, 16)


def test_memory_that_differencing_overfills_is_repaired() -> None:
    problem = job_problem([4, 3, 2, 1], 2, rows=[70, 20, 10, 60], rank_rows=100)
    state = largest_differencing(problem, first_options(problem))
    assert state is not None
    assert is_overfull(state)
    assert repair_memory(state, steps=10)
    assert state.slowest_ms == 6


def test_repair_gives_up_where_nothing_fits() -> None:
    problem = job_problem([4, 3, 2], 2, rows=[60, 61, 62], rank_rows=100)
    state = largest_differencing(problem, first_options(problem))
    assert state is not None
    assert not repair_memory(state, steps=10)


@pytest.mark.parametrize("order", ["time", "memory", "both"])
def test_packing_says_which_job_found_no_room_and_what_it_lacked(order: str) -> None:
    problem = job_problem([4, 3, 2], 2, rows=[60, 61, 62], rank_rows=100)
    state = pack(problem, first_options(problem), order)  # type: ignore[arg-type]
    assert isinstance(state, Stuck)
    assert 0 < state.short_bytes <= 24 * 68


def test_a_hosts_memory_is_shared_by_its_ranks() -> None:
    problem = job_problem([4, 3, 2], 3, rows=[60, 61, 62], rank_rows=0, ddr_rows=130)
    state = pack(problem, first_options(problem))
    assert isinstance(state, Stuck)
    assert state.short_bytes == (60 + 61 + 62 - 130) * 68
