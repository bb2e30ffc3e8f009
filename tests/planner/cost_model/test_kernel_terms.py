import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.cost_model.features import CostDrivers, drivers_of
from planner.cost_model.kernel_terms import kernel_terms, tiled_flops
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


def tables(rows: int, dim: int) -> list[Component]:
    shape: dict[str, int | float | str] = {"rows": rows, "dim": dim, "pooling": 3.0, "zipf": 0.0, "backend": "torch"}
    shape["context_bytes"] = rows * 2**16
    return [make_component("embedding", batch, shape) for batch in BATCHES]


def drivers(components: list[Component]) -> CostDrivers:
    return drivers_of(components, work_of)


@settings(deadline=None, max_examples=50)
@given(first=SIZES, second=SIZES)
def test_no_term_is_negative_or_falls_as_the_batch_grows(first: int, second: int) -> None:
    for components in (
        linears([(first, second)], BATCHES),
        concats(min(first, second), max(first, second)),
        dots(first + 1, second),
        tables(first, second),
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


def test_weights_may_be_packed_from_some_number_of_rows() -> None:
    terms = kernel_terms(drivers(linears([(10, 20), (10, 2)], (1, 2, 8, 9))))
    assert terms["flop/weights/1"].tolist() == [0, 400, 400, 400, 0, 0, 0, 0]
    assert terms["flop/weights/8"].tolist() == [0, 0, 0, 400, 0, 0, 0, 0]


def test_outputs_that_fill_no_tile_cost_each_row_something() -> None:
    terms = kernel_terms(drivers(linears([(10, 32), (10, 40), (10, 41)], (64,))))
    assert terms["row/left/8"].tolist() == [0, 0, 64]
    assert terms["row/left/16"].tolist() == [0, 64, 64]
    assert terms["number/unaligned"].tolist() == [0, 64 * 40, 64 * 41]


def test_inputs_far_longer_than_rows_and_outputs_are_packed_nowhere() -> None:
    terms = kernel_terms(drivers(linears([(24 * 16, 16)], (16, 17))))
    assert terms["flop/weights/8"].tolist() == [0, 2 * 24 * 16 * 16]


def test_few_long_vectors_are_multiplied_in_a_way_of_their_own() -> None:
    terms = kernel_terms(drivers([dots(4, 95)[0], dots(4, 96)[0]]))
    assert terms["row/deep"].tolist() == [0, 1]
    assert terms["row/narrow"].tolist() == [1, 0]


def test_the_full_rate_is_of_tiles_alone() -> None:
    products = drivers(linears([(10, 1), (10, 11), (10, 12)], (64,)))
    assert tiled_flops(products).tolist() == [0, 0, 2 * 64 * 10 * 12]
    batched = drivers([dots(4, 24)[0], dots(4, 25)[0], dots(12, 25)[0]])
    assert (tiled_flops(batched) > 0).tolist() == [False, False, True]


def test_outputs_and_weights_count_where_they_outgrow_a_cache() -> None:
    small, large = (kernel_terms(drivers(linears([(64, 64)], (batch,)))) for batch in (64, 2**16))
    assert small["edge/outputs/20"][0] < 1
    assert large["edge/outputs/20"][0] == pytest.approx(2**24, rel=1e-3)
    assert large["edge/weights/20"][0] == small["edge/weights/20"][0] < 1


def test_lookups_cost_vectors_and_the_lines_that_no_cache_keeps() -> None:
    shape: dict[str, int | float | str] = {"dim": 20, "pooling": 5.0, "zipf": 0.0, "backend": "torch"}
    few, many = (kernel_terms(drivers([make_component("embedding", 4096, {**shape, "rows": n})])) for n in (10, 10**6))
    assert few["number/vectors"] == many["number/vectors"] == 4096 * 5 * 2
    assert few["number/lines/20"][0] < many["number/lines/20"][0]
    assert many["number/lines/15"][0] == pytest.approx(4096 * 5 * (1 + 80 / 64), rel=1e-3)


def test_tiny_batched_products_are_told_from_others() -> None:
    terms = kernel_terms(drivers([dots(4, 24)[0], dots(4, 25)[0]]))
    assert terms["number/tiny"].tolist() == [16, 0]
    assert terms["row/narrow"].tolist() == [0, 1]


def test_traffic_before_a_call_is_counted_whatever_the_batch() -> None:
    shape: dict[str, int | float | str] = {"rows": 9, "dim": 4, "pooling": 1.0, "zipf": 0.0, "backend": "torch"}
    tables = [make_component("embedding", 8, {**shape, "context_bytes": mib * 2**20}) for mib in (0, 4)]
    terms = kernel_terms(drivers(tables))
    assert terms["traffic"].tolist() == [0, 4]
    assert terms["traffic/any"].tolist() == [0, 1]
    # Of log2(1 + 4) doublings, two are full steps.
    steps = [terms[f"traffic/step/{step}"][1] for step in range(4)]
    assert steps == pytest.approx([1, 1, np.log2(5) - 2, 0])
