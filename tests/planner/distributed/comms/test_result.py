from dataclasses import replace
from pathlib import Path

import pytest

from planner.distributed import get_cluster
from planner.distributed.comms import (
    CallTime,
    CommsResult,
    measured_cluster,
    read_comms,
    replay_beside_predicted,
    write_comms,
)
from planner.distributed.network import Collective, collective_seconds
from profiles.errors import InputError


def took(collective: Collective, message_bytes: int, median_ms: float) -> CallTime:
    return CallTime(
        collective=collective,
        message_bytes=message_bytes,
        median_ms=median_ms,
        low_ms=0.9 * median_ms,
        high_ms=1.1 * median_ms,
    )


RESULT = CommsResult(
    backend="gloo",
    nodes=1,
    devices_per_node=2,
    fixed=(took("all_to_all", 1000, 1.0), took("all_to_all", 100_000, 10.0)),
    replayed=(took("all_to_all", 10_000, 4.0), took("all_reduce", 500, 2.0), took("all_to_all", 10_000, 6.0)),
)
LOCAL = get_cluster("local-gloo")


def test_a_measured_network_answers_as_it_was_measured() -> None:
    cluster = measured_cluster(LOCAL, RESULT)
    assert float(collective_seconds(cluster, "all_to_all", 1000.0)) == pytest.approx(1e-3)
    assert float(collective_seconds(cluster, "all_to_all", 10_000.0)) == pytest.approx(5e-3)
    assert measured_cluster(LOCAL, RESULT, replayed=False).intra.measured == RESULT.points()[:2]


def test_a_replay_stands_beside_what_the_fixed_sizes_predict() -> None:
    most, other = replay_beside_predicted(LOCAL, RESULT)
    assert (most.collective, most.calls, most.measured_ms) == ("all_to_all", 2, 5.0)
    # Half way between 1 and 10 ms in logarithms.
    assert most.predicted_ms == pytest.approx(10**0.5)
    assert most.error == pytest.approx(10**0.5 / 5 - 1)
    # No fixed size of it was measured: as the cluster describes its network.
    assert other.predicted_ms == pytest.approx(1e3 * float(collective_seconds(LOCAL, "all_reduce", 500.0)))


def test_more_ranks_than_the_cluster_has_are_refused() -> None:
    with pytest.raises(InputError, match="measured on 2 x 2 ranks, but cluster local-gloo has only 1 x 2"):
        measured_cluster(LOCAL, replace(RESULT, nodes=2))


def test_several_nodes_are_measured_between_nodes() -> None:
    cluster = measured_cluster(get_cluster("zionex"), replace(RESULT, nodes=16, devices_per_node=8))
    assert (len(cluster.inter.measured), cluster.intra.measured) == (5, ())


def test_a_result_comes_back_from_its_file(tmp_path: Path) -> None:
    assert read_comms(write_comms(RESULT, tmp_path / "comms.json")) == RESULT
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(InputError, match=r"schema: must be 'recplan\.comms/1', but got None"):
        read_comms(tmp_path / "other.json")


def test_times_are_in_order() -> None:
    with pytest.raises(InputError, match="quartiles and median must be finite and in order"):
        replace(RESULT.fixed[0], low_ms=2.0)
