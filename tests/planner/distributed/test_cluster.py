from pathlib import Path

import pytest

from planner.distributed import cluster_catalogue, get_cluster, read_cluster
from profiles.errors import InputError, UnknownNameError
from tests.planner.distributed.small_clusters import small_cluster


def test_the_catalogue_names_a_source_for_every_cluster() -> None:
    clusters = cluster_catalogue()
    assert {"zionex", "zion", "dgx-h100", "dgx-h200", "local-gloo"} <= set(clusters)
    assert all(cluster.source for cluster in clusters.values())


def test_tiers_go_from_fast_to_slow() -> None:
    for cluster in cluster_catalogue().values():
        rates = [cluster.device_bandwidth(tier.name) for tier in cluster.tiers]
        assert rates == sorted(rates, reverse=True)


def test_zionex_holds_what_the_paper_says() -> None:
    zionex = get_cluster("zionex")
    assert zionex.ranks == 128
    assert zionex.tier_bytes("hbm") == pytest.approx(4e12, rel=0.03)
    assert zionex.tier_bytes("ddr") == 24e12


def test_shared_memory_is_divided_and_reached_through_the_host_link() -> None:
    cluster = small_cluster(2, 20, ddr_bytes=10**9)
    assert cluster.device_bandwidth("ddr") == 5e9
    assert small_cluster(2, 2, ddr_bytes=10**9).device_bandwidth("ddr") == 1e10
    assert cluster.device_bandwidth("hbm") == 1e12


def test_ranks_fill_nodes_in_order() -> None:
    cluster = small_cluster(2, 4)
    assert [cluster.node_of(rank) for rank in (0, 3, 4, 7)] == [0, 0, 1, 1]
    assert cluster.with_nodes(3).ranks == 12
    with pytest.raises(InputError, match=r"rank: must be in 0\.\.7, but got 8"):
        cluster.node_of(8)


def test_a_cluster_survives_its_plain_form() -> None:
    zionex = get_cluster("zionex")
    assert read_cluster(zionex.to_object()) == zionex


def test_a_preset_can_be_changed_key_by_key(tmp_path: Path) -> None:
    path = tmp_path / "cluster.toml"
    path.write_text(
        'preset = "zionex"\nname = "mine"\nnodes = 2\n[inter.bandwidth_bytes_per_s]\nall_to_all = 9e9\n'
        '[[tiers]]\nname = "hbm"\nbytes = 5\n[[tiers]]\nname = "ssd"\nbytes = 7\nbandwidth_bytes_per_s = 1e9\n',
        encoding="utf-8",
    )
    mine = read_cluster(path)
    assert (mine.name, mine.nodes, mine.tier("hbm").bytes, mine.tier("ssd").bytes) == ("mine", 2, 5, 7)
    assert mine.tier("hbm").bandwidth_bytes_per_s == 1300e9
    assert mine.inter.bandwidth("all_to_all", 16) == 9e9
    assert mine.inter.bandwidth("all_reduce", 16) == get_cluster("zionex").inter.bandwidth("all_reduce", 16)


def test_an_unknown_cluster_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'zionex'"):
        get_cluster("zionx")
    with pytest.raises(UnknownNameError, match="known: ddr, hbm"):
        get_cluster("zionex").tier("ssd")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"nodes": 0}, "nodes: must be >= 1, but got 0"),
        ({"tiers": []}, "tiers: must not be empty"),
        ({"tiers": [{"name": "hbm", "bandwidth_bytes_per_s": 0}]}, r"tiers\.0\.bandwidth_bytes_per_s: must be"),
        ({"tiers": [{"bytes": 1}]}, r"tiers\.0\.name: is missing"),
        ({"flops_per_s": {"tf32": 0.0}}, r"flops_per_s\.tf32: must be finite and > 0"),
        ({"host_to_device_bytes_per_s": 0}, "host_to_device_bytes_per_s: must be finite and > 0"),
        ({"inter": {"bandwidth_bytes_per_s": {"all_to_all": 0}}}, r"inter\.bandwidth_bytes_per_s\.all_to_all: must be"),
        ({"colour": "red"}, "colour: unknown key"),
        ({"preset": 3}, "preset: must be the name of a cluster"),
    ],
)
def test_a_bad_cluster_is_refused_with_its_key(changes: dict[str, object], complaint: str) -> None:
    body = {"preset": "zionex", **changes}
    if changes == {"tiers": []}:
        body = {**get_cluster("zionex").to_object(), "tiers": []}
    with pytest.raises(InputError, match=complaint):
        read_cluster(body)


def test_a_cluster_needs_a_rate_of_products() -> None:
    with pytest.raises(InputError, match="flops_per_s: must name at least one dtype"):
        small_cluster(flops_per_s={})
