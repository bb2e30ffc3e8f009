"""Every number of MP-Rec (Hsia et al., arXiv 2302.10872) beside ours: estimated devices, simulated serving.

Nothing here is timed: latencies are the catalogue's estimates, so the figures are the same on any machine.
"""

import re
from pathlib import Path
from typing import Any

from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.mp_rec_claim import Claim, stated
from tests.benchmarks.mp_rec_devices import cache_claims, device_claims, energy_claims, energy_rows
from tests.benchmarks.mp_rec_page import charts, describe
from tests.benchmarks.mp_rec_sensitivity import sensitivity_rows
from tests.benchmarks.mp_rec_serving import (
    CPU,
    DECODED,
    GPU,
    MP_REC,
    SLAS_MS,
    SWITCH,
    Served,
    ablation,
    compiled_claims,
    late_claims,
    serve_setup,
    size_rows,
    small_memory_claims,
    sweep_claims,
    sweeps,
    throughput_claims,
)
from tests.benchmarks.mp_rec_setup import DATA_SETS, Setup
from tests.benchmarks.mp_rec_splitting import split_claims

__all__ = ["BENCHMARK", "accuracy_claims"]

_FLIGHTS = Path(__file__).parent.parent.parent / "docs" / "benchmarks" / "accuracy_flights.md"
_SWEPT = (CPU, GPU, "dhe on GPU", "hybrid on GPU", SWITCH, MP_REC, DECODED)


def accuracy_claims() -> list[Claim]:
    """Hybrids over tables: an input here; what was measured on other data stands on a page of its own."""
    note = f"an input; measured on flights: {_measured_gain()}"
    return [
        stated("accuracy of hybrids over tables, Kaggle", 0.19, 0.19, note, unit="points"),
        stated("accuracy of hybrids over tables, Terabyte", 0.22, 0.22, note, unit="points"),
        stated("production: accuracy of hybrids", 0.00014, "not modelled", "another company's model", unit="%"),
        stated("production: throughput of DHE", -0.2359, "not modelled", "another company's model", unit="%"),
        stated(
            "ZionEX, 128 GPUs, tables replaced by DHE",
            -0.36,
            "not here",
            "distributed training has its own page",
            unit="%",
        ),
    ]


def _measured_gain() -> str:
    """Points of accuracy of the widest hybrid over the table of its width, as the page on flights has them."""
    text = _FLIGHTS.read_text(encoding="utf-8")
    hybrid, table = (_accuracy(text, name) for name in ("hybrid 16+16 k=1024", "table 16"))
    return f"{100 * (hybrid - table):+.2f} points ([page](accuracy_flights.md))"


def _accuracy(text: str, name: str) -> float:
    row = re.search(rf"^\| {re.escape(name)} \|(.*)\|$", text, re.MULTILINE)
    if row is None:
        raise ValueError(f"{_FLIGHTS}: no row {name!r}")
    return float(row[1].split("|")[5])


def _measure(quick: bool) -> Figures:
    kaggle, terabyte, small = (
        serve_setup(Setup()),
        serve_setup(Setup(data="terabyte")),
        serve_setup(Setup(hardware="mp-rec-hw2")),
    )
    slas_ms = SLAS_MS[::3] if quick else SLAS_MS
    swept, sizes = sweeps(kaggle, _SWEPT, slas_ms), size_rows(kaggle)
    energy = [row for data in DATA_SETS for row in energy_rows(data)]
    sections: dict[str, list[Claim]] = {
        "Accuracy, and what is elsewhere": accuracy_claims(),
        "Devices, one query at a time": device_claims(kaggle.setup),
        "MP-Cache": cache_claims(kaggle.setup),
        "Throughput of correct predictions": throughput_claims(kaggle, terabyte),
        "Query splitting": split_claims(kaggle),
        "Late queries": late_claims(kaggle),
        "Sweeps": sweep_claims(swept, sizes),
        "Little memory (HW-2)": small_memory_claims(small),
        "IPUs (HW-3)": [claim for kind in ("ipu-m2000", "ipu-pod16") for claim in compiled_claims(kind)],
        "Energy": energy_claims(energy),
    }
    return {
        "sigma": kaggle.plan.workload.sizes.sigma,
        "queries": kaggle.plan.workload.queries,
        "late_qps": kaggle.late_qps,
        "rows": [{"section": name, **claim.to_object()} for name, claims in sections.items() for claim in claims],
        "throughputs": {"kaggle": kaggle.throughputs, "terabyte": terabyte.throughputs, "hw2": small.throughputs},
        "sweep": swept,
        "sizes": sizes,
        "ablation": {"kaggle": ablation(kaggle), "terabyte": ablation(terabyte)},
        "shares": _shares({"Kaggle": kaggle, "Terabyte": terabyte}),
        "energy": energy,
        "sensitivity": [] if quick else sensitivity_rows(),
    }


def _shares(served: dict[str, Served]) -> list[dict[str, Any]]:
    """Which path each size of query took, at the paper's 1,000 queries per second."""
    rows: list[dict[str, Any]] = []
    for data, one in served.items():
        for label in (MP_REC, DECODED):
            counts = one.serve(label).path_share_by_size
            totals = [sum(of_size) for of_size in zip(*counts.values(), strict=True)]
            rows += [
                {"data": data, "policy": label, "path": path, "size_from": 2**place, "share": queries / totals[place]}
                for path, by_size in counts.items()
                for place, queries in enumerate(by_size)
                if totals[place]
            ]
    return rows


BENCHMARK = Benchmark(
    name="mp_rec_paper",
    page_name="mp_rec",
    title="MP-Rec's numbers beside ours",
    measure=_measure,
    describe=describe,
    charts=charts,
)

if __name__ == "__main__":
    main(BENCHMARK)
