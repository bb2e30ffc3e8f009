from typing import Any

from tests.benchmarks.operator_breakdown import BENCHMARK, OPERATORS, PUBLISHED, operator_sums
from tests.planner.review.small_models import CPU, DHE, GPU, review_of


def row(representation: str, device: str, slowdown: float) -> dict[str, Any]:
    return {
        "model": "dlrm-kaggle",
        "batch": 128,
        "representation": representation,
        "device": device,
        "latency_ms": 2.0 * slowdown,
        "slowdown": slowdown,
        "published": PUBLISHED.get(representation, {}).get(device),
        "operators": {**dict.fromkeys(OPERATORS, 0.0), "look-up": 2.0, "decoder": 2.0 * slowdown - 2.0},
        "cut": [],
    }


def test_every_component_is_part_of_an_operator() -> None:
    for device in review_of(DHE, CPU, GPU).devices:
        sums = operator_sums(device)
        assert abs(sum(sums.values()) / device.latency_ms - 1) < 1e-9
        assert min(sums["decoder"], sums["hash encoder"], sums["look-up"]) > 0


def test_the_page_sets_slowdowns_beside_the_published() -> None:
    slow = {"table": 1.0, "dhe": 10.06, "select": 2.05, "hybrid": 10.8}
    rows = [row(name, device, value) for name, value in slow.items() for device in ("local-cpu", "v100")]
    report = {"rows": rows, "decoders": []}
    text = "\n".join(BENCHMARK.describe(report))
    assert "| dhe | 10.1 | 10.1 | 10.5 | 4.70 |" in text
    assert "images/operator_breakdown_kaggle.svg" in text
    assert BENCHMARK.charts
    assert BENCHMARK.charts(report)["operator_breakdown_kaggle"].startswith("<svg")
