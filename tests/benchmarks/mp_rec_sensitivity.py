"""How the comparisons depend on what the paper leaves open: the spread of sizes, and what its processor reaches."""

from typing import Any

from tests.benchmarks.mp_rec_devices import MEAN_SIZE
from tests.benchmarks.mp_rec_serving import DECODED, SWITCH, Served, serve_setup
from tests.benchmarks.mp_rec_setup import DATA_SETS, CpuEfficiency, Setup, switching_gain

__all__ = ["ASSUMED", "CPU_EFFICIENCIES", "sensitivity_rows"]

# What the catalogue assumes of the processor: its share of the peak, and its time for each operator.
ASSUMED = "0.7 of the peak, 5 us an operator"
CPU_EFFICIENCIES: dict[str, CpuEfficiency | None] = {
    ASSUMED: None,
    "0.35 of the peak": CpuEfficiency(flops_share=0.35, operator_us=5),
    "20 us an operator": CpuEfficiency(flops_share=0.7, operator_us=20),
    "0.35 of the peak, 20 us": CpuEfficiency(flops_share=0.35, operator_us=20),
    "0.2 of the peak, 40 us": CpuEfficiency(flops_share=0.2, operator_us=40),
}
_SIGMAS = (0.5, 1.0)


def sensitivity_rows() -> list[dict[str, Any]]:
    """The main ratios on Kaggle and Terabyte for each processor and spread of sizes."""
    rows = []
    for label, cpu in CPU_EFFICIENCIES.items():
        kaggle, terabyte = (serve_setup(Setup(data=data, cpu=cpu)) for data in DATA_SETS)
        for sigma in _SIGMAS:
            figures = _figures(kaggle.with_sizes(sigma=sigma), terabyte.with_sizes(sigma=sigma))
            rows.append({"sigma": sigma, "cpu": label, **figures})
    return sorted(rows, key=lambda row: float(row["sigma"]))


def _figures(kaggle: Served, terabyte: Served) -> dict[str, Any]:
    tables = ("table@cpu", "table@gpu")
    return {
        "slowdown_dhe_cpu": kaggle.setup.slowdown("dhe-1024", "cpu", MEAN_SIZE),
        "slowdown_hybrid_cpu": kaggle.setup.slowdown("hybrid-1024", "cpu", MEAN_SIZE),
        "mp_rec_kaggle": kaggle.over_base(DECODED),
        "mp_rec_terabyte": terabyte.over_base(DECODED),
        "switched_kaggle": switching_gain(kaggle.plan, tables),
        "switched_terabyte": switching_gain(terabyte.plan, tables),
        "side_by_side_kaggle": kaggle.over_base(SWITCH),
        "dhe_gpu_kaggle": kaggle.over_base("dhe on GPU") - 1,
        "late_qps": kaggle.late_qps,
        "late_mp_rec": kaggle.serve(DECODED, qps=kaggle.late_qps).sla_violation_share,
    }
