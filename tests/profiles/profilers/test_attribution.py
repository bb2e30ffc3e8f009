from typing import Any

import pytest

from profiles.profilers.attribution import BACKWARD_RANGE, BusyTime, owners_at, place_events, place_kernels
from profiles.profilers.session import Event

ENGINE = "autograd::engine::evaluate_function: "


def module(index: int, start_ns: int, end_ns: int, **changes: Any) -> Event:
    name = f"recplan module {index}: a.b"
    return Event(name=name, start_ns=start_ns, end_ns=end_ns, is_range=True, **changes)


def op(name: str, start_ns: int, end_ns: int, **changes: Any) -> Event:
    return Event(name=name, start_ns=start_ns, end_ns=end_ns, **changes)


def kernel(start_ns: int, end_ns: int, launched_by: int = 0) -> Event:
    return Event(name="gemm", start_ns=start_ns, end_ns=end_ns, device="cuda:0", launched_by=launched_by)


def test_an_operator_is_of_the_innermost_module_and_its_own_time_leaves_out_what_it_calls() -> None:
    events = [
        module(0, 0, 100),
        op("aten::add", 5, 10),
        module(1, 20, 80),
        op("aten::linear", 30, 70),
        op("aten::mm", 40, 65),
    ]
    found = {one.name: one for one in place_events(events)}
    assert (found["aten::add"].node, found["aten::linear"].node, found["aten::mm"].node) == (0, 1, 1)
    assert (found["aten::linear"].own_ns, found["aten::mm"].own_ns) == (15, 25)


def test_an_operator_that_calls_modules_does_not_own_their_time() -> None:
    events = [module(0, 0, 100), op("custom", 0, 90), module(1, 10, 60), op("aten::mm", 20, 50)]
    found = place_events(events)
    assert (found[1].own_ns, found[1].node, found[3].node) == (60, 0, 1)


def test_each_call_of_a_module_is_told_apart_with_the_call_around_it() -> None:
    events = [module(0, 0, 100), module(1, 10, 20), op("a", 12, 14), module(1, 30, 40), op("b", 32, 34)]
    found = place_events(events)
    assert [one.call for one in found] == [0, 1, 1, 3, 3]
    assert [one.around for one in found if one.event.is_range] == [None, 0, 0]


def test_what_runs_outside_the_modules_or_on_another_thread_has_no_module() -> None:
    found = place_events(
        [op("before", 0, 5), module(0, 10, 20), op("elsewhere", 12, 15, thread=7), op("after", 20, 30)]
    )
    assert [one.node for one in found] == [None, 0, None, None]


def test_a_backward_operator_is_of_the_module_whose_operator_it_derives() -> None:
    events = [
        module(0, 0, 100),
        module(1, 10, 40),
        op("aten::linear", 11, 39, sequence=4),
        op("aten::addmm", 15, 35, sequence=5),
        module(2, 50, 90),
        op("aten::relu", 55, 60, sequence=6),
        Event(name=BACKWARD_RANGE, start_ns=200, end_ns=400, is_range=True),
        op("aten::ones_like", 200, 205),
        op(f"{ENGINE}ReluBackward0", 210, 240, sequence=6, thread=9),
        op("aten::threshold_backward", 215, 235, thread=9),
        op(f"{ENGINE}AddmmBackward0", 250, 290, sequence=5, thread=9),
        op("AddmmBackward0", 251, 289, sequence=5, thread=9),
        op("aten::mm", 260, 280, thread=9),
        op(f"{ENGINE}torch::autograd::AccumulateGrad", 300, 310, thread=9),
        op(f"{ENGINE}UnknownBackward0", 320, 330, sequence=77, thread=9),
    ]
    found = place_events(events)
    assert [one.node for one in found[7:]] == [None, 2, 2, 1, 1, 1, 1, None]
    assert all(one.is_backward for one in found[6:])
    assert not any(one.is_backward for one in found[:6])
    assert found[8].name == "autograd engine"


def test_a_module_that_is_computed_again_in_the_backward_pass_owns_what_runs_in_it() -> None:
    events = [
        module(0, 0, 20), op("aten::mm", 5, 10, sequence=1),
        op(f"{ENGINE}CheckpointBackward", 30, 90, sequence=1), module(3, 40, 60), op("aten::mm", 45, 50),
    ]  # fmt: skip
    found = place_events(events)
    assert (found[4].node, found[4].is_backward) == (3, True)


def test_operators_inside_or_around_one_with_a_formula_count_with_it() -> None:
    events = [op("aten::linear", 0, 100), op("aten::t", 5, 10), op("aten::addmm", 20, 90), op("aten::copy_", 30, 40)]
    found = place_events([*events, op("aten::gelu", 110, 120)], lambda name: name == "aten::addmm")
    assert [one.is_counted for one in found] == [True, False, True, True, False]


def test_a_kernel_is_of_the_operator_that_launched_it() -> None:
    events = [module(0, 0, 100), op("aten::mm", 10, 20, correlation=5), kernel(500, 540, 5), kernel(600, 610, 99)]
    launched, unknown = place_kernels(events, place_events(events, lambda _: True))
    assert (launched.node, launched.launcher, launched.own_ns, launched.is_counted) == (0, "aten::mm", 40, True)
    assert (unknown.node, unknown.launcher) == (None, "")


def test_the_module_running_at_a_time_is_the_innermost() -> None:
    placed = place_events([module(0, 0, 100), module(1, 10, 20), op("aten::mm", 30, 40)])
    assert owners_at(placed, [5, 15, 25, 35, 150]) == [0, 1, 0, 0, None]


@pytest.mark.parametrize(
    ("start_ns", "end_ns", "idle_ns"),
    [(0, 10, 0), (0, 100, 55), (5, 25, 10), (40, 50, 10), (-10, 5, 10), (90, 110, 20)],
)
def test_a_device_is_idle_where_no_kernel_runs(start_ns: int, end_ns: int, idle_ns: int) -> None:
    busy = BusyTime([kernel(60, 80), kernel(0, 10), kernel(20, 30), kernel(25, 35), kernel(62, 65)])
    assert busy.idle_ns(start_ns, end_ns) == idle_ns
