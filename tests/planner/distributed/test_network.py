import numpy as np
import pytest

from planner.distributed import MeasuredPoint, Network, collective_seconds, get_cluster
from profiles.errors import InputError
from tests.planner.distributed.small_clusters import EVEN, small_cluster


def point(message_bytes: float, seconds: float, nodes: int = 2) -> MeasuredPoint:
    return MeasuredPoint(
        collective="all_to_all", nodes=nodes, devices_per_node=4, message_bytes=message_bytes, seconds=seconds
    )


@pytest.mark.parametrize(
    ("collective", "rate"),
    [("all_to_all", 7e9), ("all_reduce", 60e9), ("all_gather", 120e9), ("reduce_scatter", 120e9)],
)
def test_zionex_reaches_the_published_rates_at_256_mb(collective: str, rate: float) -> None:
    seconds = collective_seconds(get_cluster("zionex"), collective, 256e6)
    assert 256e6 / float(seconds) == pytest.approx(rate, rel=1e-3)


def test_time_is_latency_and_bytes_over_a_rate_that_small_messages_do_not_reach() -> None:
    network = Network(latency_s=1e-5, latency_per_rank_s=1e-6, half_message_bytes=1000.0, bandwidth_bytes_per_s=EVEN)
    seconds = network.seconds("all_reduce", np.array([0.0, 1000.0, 1e9]), nodes=2, devices_per_node=4)
    assert seconds.tolist() == pytest.approx([0.0, 1.7e-5 + 2e-6, 1.7e-5 + 1e-6 + 1.0])


def test_bandwidth_falls_with_nodes_and_stays_below_the_link() -> None:
    network = Network(
        latency_s=0.0,
        bandwidth_bytes_per_s=EVEN,
        node_exponent={"all_to_all": 0.5},
        reference_nodes=4,
        link_bytes_per_s=1.5e9,
    )
    assert [network.bandwidth("all_to_all", nodes) for nodes in (1, 4, 16)] == [1.5e9, 1e9, 0.5e9]
    assert network.bandwidth("all_reduce", 16) == 1e9


def test_one_rank_talks_to_nobody() -> None:
    assert float(collective_seconds(small_cluster(), "all_to_all", 1e6, devices_per_node=1)) == 0


def test_one_node_uses_the_network_inside_it() -> None:
    cluster = small_cluster(2, 2)
    inside = collective_seconds(cluster, "all_reduce", 1e6, nodes=1)
    assert float(inside) == pytest.approx(1e-6 + 1e-4)
    assert float(collective_seconds(cluster, "all_reduce", 1e6)) == pytest.approx(1e-5 + 1e-3)


def test_measured_points_win_between_their_ends() -> None:
    network = Network(latency_s=0.0, bandwidth_bytes_per_s=EVEN, measured=(point(1e4, 0.01), point(1e6, 1.0)))
    seconds = network.seconds("all_to_all", np.array([1e3, 1e5, 1e7]), nodes=2, devices_per_node=4)
    assert seconds.tolist() == pytest.approx([1e-6, 0.1, 1e-2])


def test_repeated_points_count_by_their_median() -> None:
    points = tuple(point(1e4, seconds) for seconds in (0.1, 0.2, 9.0))
    network = Network(latency_s=0.0, bandwidth_bytes_per_s=EVEN, measured=points)
    assert float(network.seconds("all_to_all", 1e4, nodes=2, devices_per_node=4)) == pytest.approx(0.2)


def test_points_of_another_shape_do_not_count() -> None:
    network = Network(latency_s=0.0, bandwidth_bytes_per_s=EVEN, measured=(point(1e4, 5.0, nodes=3),))
    assert float(network.seconds("all_to_all", 1e4, nodes=2, devices_per_node=4)) == pytest.approx(1e-5)


def test_a_faster_network_keeps_its_latency() -> None:
    network = Network(
        latency_s=1e-3, bandwidth_bytes_per_s=EVEN, link_bytes_per_s=2e9, measured=(point(1e6, 3e-3),)
    ).faster(2.0)
    assert network.bandwidth("all_to_all", 1) == 2e9
    assert network.measured[0].seconds == pytest.approx(2e-3)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"bandwidth_bytes_per_s": {**EVEN, "all_to_all": 0.0}}, r"bandwidth_bytes_per_s\.all_to_all: must be finite"),
        ({"bandwidth_bytes_per_s": {"all_to_all": 1.0}}, r"bandwidth_bytes_per_s\.all_gather: is missing"),
        ({"node_exponent": {"broadcast": 1.0}}, "unknown name 'broadcast'"),
        ({"latency_s": -1.0}, "latency_s: must be finite and >= 0"),
        ({"reference_nodes": 0}, "reference_nodes: must be >= 1"),
        ({"link_bytes_per_s": 0.0}, "link_bytes_per_s: must be finite and > 0"),
    ],
)
def test_a_bad_network_is_refused(changes: dict[str, object], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        Network(**{"latency_s": 0.0, "bandwidth_bytes_per_s": EVEN, **changes})  # type: ignore[arg-type]


def test_unknown_collectives_and_too_large_parts_are_refused() -> None:
    with pytest.raises(InputError, match="unknown name 'gather'"):
        collective_seconds(small_cluster(), "gather", 1.0)
    with pytest.raises(InputError, match="3 x 2 is not part of small"):
        collective_seconds(small_cluster(), "all_reduce", 1.0, nodes=3)
    with pytest.raises(InputError, match="seconds: must be finite and > 0"):
        point(1.0, 0.0)
