"""The page on ZionEX: verdicts, unbalanced plans, and that the quick run has every claim."""

from dataclasses import replace

import pytest

from planner.distributed import EmbeddingTable
from planner.distributed.paper_models import Assumptions
from tests.benchmarks.zionex import BENCHMARK
from tests.benchmarks.zionex_claims import hidden_all_reduce
from tests.benchmarks.zionex_memory import cache_figures
from tests.benchmarks.zionex_page import describe
from tests.benchmarks.zionex_row import Row, Unit, verdict
from tests.benchmarks.zionex_setup import FP32, Setting, placed_by_bytes
from tests.planner.distributed.iteration.placed import cluster_of


def row(paper: float | str, ours: float | str, fitted: float | None = None, unit: Unit = "%") -> Row:
    return Row(section="s", claim="c", paper=paper, ours=ours, fitted=fitted, unit=unit, rests_on="r")


def test_a_verdict_is_the_nearer_of_both() -> None:
    assert verdict(row(0.3, 0.6, 0.33)) == "close"
    assert verdict(row(0.3, 0.6)) == "same direction"
    assert verdict(row(0.3, -0.6)) == "differs"
    assert verdict(row(1.2, 3.0, unit="MQPS")) == "differs"
    assert verdict(row("holds", "holds")) == "holds"
    assert verdict(row("holds", "does not hold")) == "does not hold"
    assert verdict(row("40x", "not modelled")) == ""
    assert verdict(replace(row(0.3, 0.3), is_fitted=True)) == "fitted"


def test_a_plan_by_bytes_balances_bytes_alone() -> None:
    tables = [EmbeddingTable(name=f"t{i}", rows=100 * (i + 1), dim=8, pooling=10.0 - i) for i in range(8)]
    plan = placed_by_bytes(tables, cluster_of())
    first, second = plan.rank_bytes("hbm").tolist()
    assert abs(first - second) <= tables[0].total_bytes


@pytest.mark.slow
def test_predicted_hit_rates_are_within_two_points_of_the_replay() -> None:
    for figures in cache_figures():
        assert figures["predicted"] == pytest.approx(figures["replayed"], abs=0.02)
        assert figures["forecast"] == pytest.approx(figures["second_half"], abs=0.02)


def test_another_half_message_leaves_published_bandwidths_as_they_are() -> None:
    for half_message_bytes in (0.0, 64e6):
        inter = Setting(half_message_bytes=half_message_bytes).cluster.inter
        seconds = inter.seconds("all_to_all", 256e6, nodes=16, devices_per_node=8)
        assert 256e6 / seconds == pytest.approx(7e9, rel=0.001)


def test_an_all_reduce_in_turn_counts_as_hidden_only_as_far_as_it_is() -> None:
    setting = Setting(assumptions=Assumptions(tables=40), is_network_shared=True)
    assert hidden_all_reduce(setting) < 0.9


@pytest.mark.slow
def test_less_precision_and_more_balance_raise_the_throughput_of_model_a() -> None:
    setting = Setting(assumptions=Assumptions(tables=300, spread=0.5))
    assert setting.time.qps > Setting(assumptions=setting.assumptions, collectives=FP32).time.qps
    assert setting.time.qps > Setting(assumptions=setting.assumptions, is_balanced=False).time.qps


@pytest.mark.slow
def test_the_quick_run_has_a_row_for_every_claim_and_every_chart() -> None:
    report = BENCHMARK.measure(True)
    assert {"claim", "paper", "ours", "rests_on", "verdict"} <= set(report["rows"][0])
    text = "\n".join(describe(report))
    assert all(one["claim"] in text for one in report["rows"])
    assert "not modelled" in text
    assert BENCHMARK.charts is not None
    for name, svg in BENCHMARK.charts(report).items():
        assert svg.startswith("<svg")
        assert f"images/{name}.svg" in text
