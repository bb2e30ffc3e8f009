import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.cost_model.features import CostDrivers, drivers_of
from planner.cost_model.kernel_terms import kernel_terms
from profiles.component import Component, make_component
from representations.components import work_of
from tests.planner.cost_model.synthetic import linears

BATCHES = (1, 2, 3, 4, 5, 64, 1000)
SIZES = st.integers(1, 200)


def concats(parts: int, width: int) -> list[Component]:
    return [make_component("concat", batch, {"parts": parts, "width": width}) for batch in BATCHES]


def dots(vectors: int, dim: int) -> list[Component]:
    shape: dict[str, int | float | str] = {"vectors": vectors, "dim": dim, "function": "dot"}
    return [make_component("interaction", batch, shape) for batch in BATCHES]


def drivers(components: list[Component]) -> CostDrivers:
    return drivers_of(components, work_of)


@settings(deadline=None, max_examples=50)
@given(first=SIZES, second=SIZES)
def test_no_term_is_negative_or_falls_as_the_batch_grows(first: int, second: int) -> None:
    for components in (
        linears([(first, second)], BATCHES),
        concats(min(first, second), max(first, second)),
        dots(first + 1, second),
    ):
        for name, column_N in kernel_terms(drivers(components)).items():
            assert (column_N >= 0).all(), name
            assert (np.diff(column_N) >= 0).all(), name


def test_parts_of_whole_vectors_leave_nothing() -> None:
    even, odd = (kernel_terms(drivers(concats(3, width)[:2])) for width in (48, 50))
    assert even["number/left"].tolist() == [0, 0]
    # 17 + 17 + 16
    assert odd["number/left"].tolist() == [2, 4]
    assert odd["row/left"].tolist() == [2, 4]


def test_few_outputs_fill_no_tiles() -> None:
    terms = kernel_terms(drivers(linears([(10, 1), (10, 8), (10, 13)], (64,))))
    flops = 2 * 64 * 10 * np.array([1, 8, 13])
    assert terms["flop/vector"].tolist() == [flops[0], 0, 0]
    assert terms["flop/narrow"].tolist() == [0, flops[1], 0]
    assert terms["flop/left/4"] == pytest.approx([0, 0, flops[2] / 13])


def test_up_to_three_rows_read_the_weights_once_each() -> None:
    terms = kernel_terms(drivers(linears([(10, 20)], (1, 3, 4, 100))))
    assert terms["flop/weights"].tolist() == [400, 1200, 1200, 1200]
    assert terms["call/packed"].tolist() == [0, 0, 1, 1]


def test_tiny_batched_products_are_told_from_others() -> None:
    terms = kernel_terms(drivers([dots(4, 24)[0], dots(4, 25)[0]]))
    assert terms["row/tiny"].tolist() == [1, 0]
    assert terms["row/narrow"].tolist() == [0, 1]


def test_traffic_before_a_call_is_counted_whatever_the_batch() -> None:
    shape: dict[str, int | float | str] = {"rows": 9, "dim": 4, "pooling": 1.0, "zipf": 0.0, "backend": "torch"}
    tables = [make_component("embedding", 8, {**shape, "context_bytes": mib * 2**20}) for mib in (0, 4)]
    terms = kernel_terms(drivers(tables))
    assert terms["traffic"].tolist() == [0, 4]
    assert terms["traffic/any"].tolist() == [0, 1]
