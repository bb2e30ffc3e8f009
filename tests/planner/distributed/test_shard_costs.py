"""Costs of single pieces against arithmetic by hand: 2 ranks or 2 x 2, 4 samples each, a table of 1,000 x 16."""

from typing import Any

import numpy as np
import pytest

from planner.distributed import Cluster, Placement, RooflineCosts, Shard
from planner.distributed.input_distribution import OPERATIONS, input_traffic
from planner.distributed.pieces import Pieces, pieces_of_placements
from planner.distributed.plan import SCHEMES
from planner.distributed.traffic import backward_traffic, forward_traffic
from profiles.errors import InputError
from tests.planner.distributed.small_clusters import small_cluster, table

FLAT, NESTED = small_cluster(1, 2), small_cluster(2, 2)
BATCH = 4


def shards(scheme: str, cluster: Cluster) -> tuple[Shard, ...]:
    half, rows = (0, 500, 500, 1000), (0, 1000)
    cuts: dict[str, list[tuple[int, ...]]] = {
        "table_wise": [(0, *rows, 0, 16)],
        "row_wise": [
            (rank, rank * 1000 // cluster.ranks, (rank + 1) * 1000 // cluster.ranks, 0, 16)
            for rank in range(cluster.ranks)
        ],
        "column_wise": [(0, *rows, 0, 8), (1, *rows, 8, 16)],
        "data_parallel": [(rank, *rows, 0, 16) for rank in range(cluster.ranks)],
        "table_row_wise": [(0, *half[:2], 0, 16), (1, *half[2:], 0, 16)],
        "table_column_wise": [(0, *rows, 0, 8), (1, *rows, 8, 16)],
        "grid": [
            (2 * node + part, *half[2 * part : 2 * part + 2], 8 * node, 8 * node + 8)
            for node in (0, 1)
            for part in (0, 1)
        ],
    }
    return tuple(Shard("t", *cut, "hbm") for cut in cuts[scheme])  # type: ignore[call-arg, arg-type]


def pieces(scheme: Any, cluster: Cluster = NESTED) -> Pieces:
    placement = Placement(table=table(), scheme=scheme, shards=shards(scheme, cluster))
    return pieces_of_placements([placement], cluster, BATCH)[0]


def bytes_by(traffic: Any) -> dict[tuple[str, str], float]:
    """Bytes of the first piece."""
    return {(one.collective, one.scope): float(one.bytes_N[0]) for one in traffic if one.bytes_N[0]}


@pytest.mark.parametrize(
    ("scheme", "received", "inside"),
    [
        ("table_wise", 16 * 2 * 8 + 16 * 4, 0),
        ("row_wise", 16 * 2 * 8 / 4 + 16 * 4, 0),
        ("column_wise", 16 * 2 * 8 + 16 * 4, 0),
        ("data_parallel", 0, 0),
        ("table_row_wise", 16 * 2 * 8 / 2 + 16 * 4, 0),
        ("table_column_wise", (16 * 2 * 8 + 16 * 4) / 2, 16 * 2 * 8 + 16 * 4),
        ("grid", 16 * 2 * 8 / 2 + 16 * 4, 0),
    ],
)
def test_input_distribution_is_counted_in_bytes_per_scheme(scheme: str, received: float, inside: float) -> None:
    traffic = input_traffic(pieces(scheme))
    assert (traffic.all_to_all_bytes_N[0], traffic.intra_bytes_N[0]) == (received, inside)
    assert traffic.total_bytes[0] == received + inside


def test_every_scheme_has_an_input_operation() -> None:
    assert set(OPERATIONS) == set(SCHEMES)


@pytest.mark.parametrize(
    ("scheme", "forward", "backward"),
    [
        ("table_wise", {("all_to_all", "cluster"): 1024}, {("all_to_all", "cluster"): 512}),
        ("column_wise", {("all_to_all", "cluster"): 512}, {("all_to_all", "cluster"): 256}),
        ("table_column_wise", {("all_to_all", "cluster"): 512}, {("all_to_all", "cluster"): 256}),
        ("row_wise", {("reduce_scatter", "cluster"): 1024}, {("all_gather", "cluster"): 512}),
        (
            "table_row_wise",
            {("reduce_scatter", "node"): 1024, ("all_to_all", "cluster"): 512},
            {("all_gather", "node"): 512, ("all_to_all", "cluster"): 256},
        ),
        (
            "grid",
            {("reduce_scatter", "node"): 512, ("all_to_all", "cluster"): 256},
            {("all_gather", "node"): 256, ("all_to_all", "cluster"): 128},
        ),
        ("data_parallel", {}, {("all_reduce", "cluster"): 64_000}),
    ],
)
def test_messages_follow_the_scheme(
    scheme: str, forward: dict[tuple[str, str], float], backward: dict[tuple[str, str], float]
) -> None:
    assert bytes_by(forward_traffic(pieces(scheme), 4)) == forward
    assert bytes_by(backward_traffic(pieces(scheme), 2)) == backward


def test_rows_over_some_ranks_send_partial_sums() -> None:
    placement = Placement(table=table(), scheme="row_wise", shards=shards("row_wise", FLAT))
    some = pieces_of_placements([placement], NESTED, BATCH)[0]
    assert bytes_by(forward_traffic(some, 4)) == {("all_to_all", "cluster"): 1024}


def test_a_table_costs_its_bytes_over_the_bandwidths() -> None:
    costs = RooflineCosts().price(pieces("table_wise"))
    lookup_ms = 16 * 2 * 64 / 1e12 * 1e3
    assert costs.forward_compute_ms_N.tolist() == pytest.approx([lookup_ms])
    assert costs.backward_compute_ms_N.tolist() == pytest.approx([2 * lookup_ms])
    assert costs.forward_comm_ms_N.tolist() == pytest.approx([1024 / 1e9 * 1e3])
    assert costs.input_ms_N.tolist() == pytest.approx([320 / 1e9 * 1e3])
    assert costs.tier_bytes_NT.tolist() == [[68_000.0]]
    assert costs.total_ms.tolist() == pytest.approx([3 * lookup_ms + (2 * 1024 + 320) / 1e6])


def test_a_copy_looks_up_its_own_samples_and_rewrites_the_table() -> None:
    costs = RooflineCosts().price(pieces("data_parallel"))
    assert costs.forward_compute_ms_N[0] == pytest.approx(4 * 2 * 64 / 1e9)
    assert costs.backward_compute_ms_N[0] == pytest.approx((2 * 4 * 2 * 64 + 3 * 64_000) / 1e9)
    assert costs.backward_comm_ms_N[0] == pytest.approx(64_000 / 1e6)


def test_half_precision_halves_the_messages() -> None:
    full = RooflineCosts().price(pieces("table_wise"))
    half = RooflineCosts(forward_dtype="float16", backward_dtype="bfloat16").price(pieces("table_wise"))
    assert half.forward_comm_ms_N[0] == full.forward_comm_ms_N[0] / 2
    assert half.backward_comm_ms_N[0] == full.backward_comm_ms_N[0] / 2


def test_hidden_input_costs_nothing() -> None:
    costs = RooflineCosts(count_input=False)
    assert costs.price(pieces("table_wise")).input_ms_N.tolist() == [0]
    assert "taken to be hidden" in costs.assumptions[0]


def test_a_single_rank_sends_nothing() -> None:
    alone = small_cluster(1, 1)
    placement = Placement(table=table(), scheme="table_wise", shards=shards("table_wise", alone))
    priced = RooflineCosts().price(pieces_of_placements([placement], alone, BATCH)[0])
    assert np.array_equal(priced.total_ms, priced.forward_compute_ms_N + priced.backward_compute_ms_N)


def test_an_unknown_dtype_is_refused() -> None:
    with pytest.raises(InputError, match="forward_dtype: unknown name 'tf32'"):
        RooflineCosts(forward_dtype="tf32")
