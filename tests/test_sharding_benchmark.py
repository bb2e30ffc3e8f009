"""The benchmark of sharding plans: its cases, and that its page follows from figures. Nothing here is timed."""

from typing import Any

import pytest

from tests.benchmarks import sharding
from tests.benchmarks.sharding_case import cluster_of, plan_case


def case(**changes: Any) -> dict[str, Any]:
    figures = plan_case("mlperf", 8, "roofline", 1)
    return {"tables": 26, "set": "mlperf", "ranks": 8, "costs": "roofline", **figures, **changes}


def test_a_case_says_what_its_plan_is_worth() -> None:
    figures = plan_case("mlperf", 8, "torchrec", 1)
    assert figures["slowest_ms"] >= figures["lower_bound_ms"] > 0
    assert cluster_of("torchrec", 16).tier("hbm").bytes == 40 * 2**30


@pytest.mark.parametrize(("seconds", "verdict"), [(0.5, "yes"), (1.5, "**no**")])
def test_the_page_says_whether_goals_are_met(seconds: float, verdict: str) -> None:
    large = case(set="1000", ranks=128, plan_seconds=seconds, max_over_lower_bound=1.002)
    beside = case(
        set="500",
        costs="torchrec",
        plan_cpu_seconds=1.0,
        torchrec_cpu_seconds=40.0,
        torchrec_slowest_ms=0.0,
        torchrec_max_over_mean=1.1,
        torchrec_ended_early=True,
    )
    page = "\n".join(sharding.BENCHMARK.describe({"cases": [large, beside]}))
    assert f"1000@128 planned within 1 s: {verdict}" in page
    assert "within 1.5 % of the bound: yes (at most 0.20%)" in page
    assert "everywhere: **no** (500@8)" in page
    assert "at least 50 times faster at 500 and 1,000 tables: **no** (at least 40)" in page
    assert "| > 40.0 | > 40.0 |" in page
    assert "ended early, so that torchrec's plan might still have improved: 500@8" in page
