"""The plain parts of the page on MP-Rec's numbers, and its orders on a small run."""

import re

import numpy as np
import pytest

from serving_sim.policies import Static
from tests.benchmarks.mp_rec_caches import MpCache, zipf_hit_rate
from tests.benchmarks.mp_rec_claim import change, holds, ratio, stated
from tests.benchmarks.mp_rec_devices import cache_claims, device_claims, energy_claims, energy_rows
from tests.benchmarks.mp_rec_page import describe
from tests.benchmarks.mp_rec_paper import BENCHMARK, accuracy_claims
from tests.benchmarks.mp_rec_serving import CPU, crossing_size, serve_setup, throughput_claims
from tests.benchmarks.mp_rec_setup import (
    DATA_SETS,
    CpuEfficiency,
    Setup,
    late_share,
    mean_service_ms,
    rate_when_late,
    select_of_largest,
    switching_gain,
    throughput,
)

KAGGLE = Setup()


def test_a_sign_is_the_side_of_no_change() -> None:
    assert ratio("faster", 2.5, 1.1).same_sign
    assert not ratio("faster", 2.5, 0.9).same_sign
    assert change("slower", -0.6, -0.1).same_sign
    assert change("nothing", 0.0, 0.01).same_sign
    assert not change("nothing", 0.0, 0.2).same_sign
    assert holds("order", False).same_sign is False
    assert stated("input", 1.0, 1.0).same_sign is None


def test_select_gives_dhes_to_the_features_of_most_ids() -> None:
    select = KAGGLE.specs["select-3"]
    kept = [a is b for a, b in zip(select.embeddings, KAGGLE.table.embeddings, strict=True)]
    rows = np.array([feature.cardinality for feature in select.features])
    assert set(rows[~np.array(kept)]) == {10131227, 8351593, 7046547}
    assert select_of_largest(KAGGLE.table, select, 0).embeddings == KAGGLE.table.embeddings


def test_an_empty_cache_leaves_latencies_as_they_are() -> None:
    cached = KAGGLE.cached(MpCache())
    for ours, theirs in zip(cached.paths, KAGGLE.plan.paths, strict=True):
        np.testing.assert_allclose(ours.latency.mean_ms, theirs.latency.mean_ms, rtol=1e-12)
    assert cached.caches == ()


def test_a_larger_cache_hits_more_and_misses_cost_more_than_hits() -> None:
    features = KAGGLE.table.features
    rates = [zipf_hit_rate(features, entries, 1.05) for entries in (0, 1, 100, 10_000, 10**8)]
    assert rates[0] == 0
    assert rates == sorted(rates)
    assert rates[-1] == pytest.approx(1.0)
    plan = KAGGLE.cached(MpCache(encoder_bytes=2_000_000))
    assert plan.caches[0].entries_per_feature == 1201
    for path in plan.paths:
        by_share = np.array(path.latency.mean_by_miss_share_ms)
        assert (path.cache == "mp-cache") == (path.representation != "table") == bool(by_share.size)
        assert np.all(np.diff(by_share, axis=0) >= 0)


def test_a_slower_processor_slows_its_own_paths_alone() -> None:
    slower = Setup(cpu=CpuEfficiency(flops_share=0.2, operator_us=40))
    for ours, theirs in zip(slower.plan.paths, KAGGLE.plan.paths, strict=True):
        assert ours.name == theirs.name
        assert (ours.latency.mean_ms[7] > theirs.latency.mean_ms[7]) == (ours.device == "cpu")


def test_throughput_without_pause_is_that_of_the_mean_service() -> None:
    plan = KAGGLE.plan.at(queries=2_000)
    static = Static(path="table@cpu")
    place = [path.name for path in plan.paths].index("table@cpu")
    expected = 1000 / mean_service_ms(plan)[place] * 128 * plan.paths[place].accuracy
    assert throughput(plan, static) == pytest.approx(expected, rel=0.1)


def test_the_rate_at_which_a_share_is_late_is_found() -> None:
    plan = KAGGLE.plan.at(queries=2_000)
    qps = rate_when_late(plan, Static(path="table@cpu"), 0.3)
    assert late_share(plan, Static(path="table@cpu"), qps=qps) == pytest.approx(0.3, abs=0.02)


def test_switching_gains_nothing_where_one_device_is_always_quicker() -> None:
    assert switching_gain(KAGGLE.plan, ("table@cpu", "dhe@cpu")) == pytest.approx(0.0, abs=1e-12)
    assert switching_gain(KAGGLE.plan, ("table@cpu", "table@gpu")) > 0


@pytest.mark.slow
def test_orders_of_the_paper_hold_on_devices_and_caches() -> None:
    claims = [*device_claims(KAGGLE), *cache_claims(KAGGLE)]
    unlike = {claim.claim for claim in claims if claim.same_sign is False}
    assert unlike <= {"order of the accelerators: TPU chip, TPU board, IPU pod"}


@pytest.mark.slow
def test_mp_rec_gains_over_tables_on_the_processor() -> None:
    kaggle, terabyte = (serve_setup(Setup(data=data)) for data in DATA_SETS)
    claims = {claim.claim: claim for claim in throughput_claims(kaggle, terabyte)}
    assert claims["MP-Rec over tables on the CPU, Kaggle"].same_sign
    assert claims["MP-Rec gains more on Terabyte than on Kaggle"].same_sign
    assert crossing_size(kaggle) > crossing_size(terabyte)
    assert CPU in kaggle.policies


def test_energy_names_the_best_device_of_each_row() -> None:
    rows = [row for data in DATA_SETS for row in energy_rows(data)]
    assert {row["fits_on_chip"] for row in rows if row["kind"] == "ipu-gc200"} == {"yes", "no"}
    assert [claim.same_sign for claim in energy_claims(rows)]


def test_the_measured_gain_is_read_from_its_page() -> None:
    assert re.search(r"measured on flights: [+-]\d\.\d\d points", accuracy_claims()[0].note)


@pytest.mark.slow
def test_the_quick_run_has_a_row_for_every_claim_and_every_chart() -> None:
    report = BENCHMARK.measure(True)
    assert {"claim", "paper", "ours", "same_sign"} <= set(report["rows"][0])
    text = "\n".join(describe(report))
    assert all(row["claim"] in text for row in report["rows"])
    assert BENCHMARK.charts is not None
    for name, svg in BENCHMARK.charts(report).items():
        assert svg.startswith("<svg")
        assert f"images/{name}.svg" in text
