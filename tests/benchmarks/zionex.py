"""The numbers of Neo and ZionEX (Mudigere et al., arXiv 2104.05158) beside ours, each with what it rests on.

Nothing here is timed: all are predictions, the same on any machine.
"""

from dataclasses import asdict, replace
from typing import Any

from planner.distributed.paper_models import Assumptions
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.zionex_assumptions import assumption_rows, constant_rows, reading_rows, wrong_hardware
from tests.benchmarks.zionex_charts import charts
from tests.benchmarks.zionex_claims import (
    Beside,
    communication_rows,
    gain_rows,
    pipelining_rows,
    scaling_rows,
    throughput_rows,
)
from tests.benchmarks.zionex_dhe import dhe_figures, dhe_rows, matched_figures
from tests.benchmarks.zionex_fit import CHOSEN, SPREAD, Fit, fit_model_a
from tests.benchmarks.zionex_memory import cache_figures, memory_rows
from tests.benchmarks.zionex_page import describe
from tests.benchmarks.zionex_row import Row
from tests.benchmarks.zionex_setup import NODES, Setting

__all__ = ["BENCHMARK"]

_QUICK_COUNTS = (900,)
_NODES = (1, 2, 4, 8, 16)


def _measure(quick: bool) -> Figures:
    fit = fit_model_a(CHOSEN, _QUICK_COUNTS if quick else ())
    nodes = (1, NODES) if quick else _NODES
    dhe, cache = dhe_figures((512, 2048) if quick else (256, 512, 2048, 8192)), cache_figures()
    matched = matched_figures()
    rows = [
        *throughput_rows(fit),
        *communication_rows(fit),
        *scaling_rows(fit),
        *gain_rows(fit),
        *memory_rows(),
        *dhe_rows(dhe, matched, fit),
        *pipelining_rows(fit, nodes),
        *_cache_rows(cache),
        *_stated_rows(),
    ]
    return {
        "fit": asdict(fit),
        "rows": [row.to_object() for row in rows],
        "readings": [] if quick else reading_rows(),
        "assumptions": assumption_rows(fit, quick=quick),
        "constants": constant_rows(fit),
        "wrong_hardware": wrong_hardware(fit),
        "dhe": dhe,
        "dhe_matched": matched,
        "cache": cache,
        "scaling": _scaling(fit, nodes),
        "timeline": _timeline(fit),
    }


def _cache_rows(cache: list[dict[str, float]]) -> list[Row]:
    off = max(abs(row["predicted"] - row["replayed"]) for row in cache)
    ahead = max(abs(row["forecast"] - row["second_half"]) for row in cache)
    return [
        Row(
            section="HBM as a cache: hit rates of the Scarab log",
            claim="predicted within 2 points of an LRU replay",
            paper="holds",
            ours="holds" if off <= 0.02 else "does not hold",
            rests_on="reuse times of the log; no access is replayed",
            note=f"at most {100 * off:.2f} points off; from the first half for the second {100 * ahead:.2f}. "
            "Independent draws by Zipf's law with the exponent of the counts (Che) miss what comes back soon",
        )
    ]


def _stated_rows() -> list[Row]:
    section = "Stated, not modelled"
    return [
        Row(
            section=section,
            claim="over the system before",
            paper="40x",
            ours="not modelled",
            rests_on="45 parameter servers and 15 trainers on CPUs, of which nothing else is published",
        ),
        Row(
            section=section,
            claim="fused embedding kernels: up to",
            paper="7x",
            ours="not modelled",
            rests_on="look-ups are one fused kernel here",
        ),
        Row(
            section=section,
            claim="the older platform",
            paper="about 0.25 MQPS",
            ours="not modelled",
            rests_on="of another model than A: 63 TFLOP/s at that rate are 252 MFLOP a sample",
        ),
    ]


def _scaling(fit: Fit, nodes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Rows as `scaling_rows` of the charts has them."""
    rows = []
    for name in ("A", "I"):
        setting = Beside.of(name, fit).fitted
        times = {count: replace(setting, nodes=count).time for count in nodes}
        first = times[nodes[0]]
        for count, time in times.items():
            ideal_qps = first.qps * count / nodes[0]
            rows.append({
                "curve": f"model {name}, fitted",
                "nodes": count,
                "ranks": time.cluster.ranks,
                "qps": time.qps,
                "efficiency": time.qps / ideal_qps,
                "ideal_qps": ideal_qps,
                "exposed_comm_share": time.exposed_comm_share,
            })  # fmt: skip
    return rows


def _timeline(fit: Fit) -> list[dict[str, Any]]:
    from planner.distributed.charts import timeline_ranks, timeline_rows

    time = fit.applied(Setting(assumptions=Assumptions(spread=SPREAD))).time
    return timeline_rows(time, timeline_ranks(time, 3))


BENCHMARK = Benchmark(
    name="zionex",
    title="Neo and ZionEX beside ours",
    measure=_measure,
    describe=describe,
    charts=charts,
)

if __name__ == "__main__":
    main(BENCHMARK)
