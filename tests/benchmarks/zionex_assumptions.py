"""How the figures of model A follow what the paper leaves open, and each constant of the hardware."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from planner.distributed import get_cluster
from planner.distributed.sensitivity import planned_for_other_hardware, sensitivity
from planner.distributed.whatif import Scenario
from tests.benchmarks.zionex_claims import hidden_all_reduce
from tests.benchmarks.zionex_fit import READINGS, Fit, fit_model_a
from tests.benchmarks.zionex_setup import FP32, NODES, Setting

__all__ = ["assumption_rows", "constant_rows", "reading_rows", "wrong_hardware"]

Rows = list[dict[str, Any]]


def reading_rows() -> Rows:
    """Each reading of the paper, fitted to model A's throughput and, as near as it goes, the exposed share.

    `reading, tables, compute_share, hidden_at_last` (of the AllReduce, at the batch of the throughput) and the figures
    of `assumption_rows` at 64K.
    """
    rows = []
    for reading in READINGS:
        fit = fit_model_a(reading)
        setting = fit.applied(Setting())
        rows.append(
            {
                "reading": reading.name,
                "tables": fit.tables,
                "compute_share": fit.compute_share,
                "hidden_at_last": hidden_all_reduce(fit.finished(setting)),
                **_figures(setting, fit),
            }
        )
    return rows


def assumption_rows(fit: Fit, *, quick: bool = False) -> Rows:
    """The fitted setting, then one change each.

    `assumption, qps` (at the batch of the published throughput) and, at 64K, `exposed_comm_share, efficiency` and
    `efficiency_from_two` (nodes), `precision_gain`, and `all_gain` of balance, precision and a batch of 256K.
    """
    base = fit.applied(Setting())
    return [
        {"assumption": name, **_figures(setting, fit)}
        for name, setting in {"as fitted": base, **_variations(base, quick=quick)}.items()
    ]


def _figures(setting: Setting, fit: Fit) -> dict[str, float]:
    time, large = setting.time, replace(setting, batch_per_rank=2048).time
    start = replace(setting, is_balanced=False, collectives=FP32).time
    return {
        "qps": fit.finished(setting).time.qps,
        "exposed_comm_share": time.exposed_comm_share,
        "efficiency": time.qps / replace(setting, nodes=1).time.qps / NODES,
        "efficiency_from_two": time.qps / replace(setting, nodes=2).time.qps / NODES * 2,
        "precision_gain": time.qps / replace(setting, collectives=FP32).time.qps - 1,
        "all_gain": large.qps / start.qps - 1,
    }


def _variations(base: Setting, *, quick: bool) -> Mapping[str, Setting]:
    given, share = base.assumptions, base.compute_share
    dense = {
        "layers at the benchmark's GEMM rate": replace(base, compute_share=1.0),
        "half the fitted GEMM rate": replace(base, compute_share=share / 2),
        "638 MFLOP are forward and backward": replace(base, assumptions=replace(given, flops="whole")),
        "dense parameters half of 638 M": replace(base, assumptions=replace(given, dense_parameters="flops")),
        "a fifth of the layers before the interaction": replace(base, assumptions=replace(given, bottom_share=0.2)),
        "look-ups and layers on one stream": replace(base, lookups_beside_dense=False),
    }
    network = {
        "transfers beside one another": replace(base, is_network_shared=False),
        "AlltoAll as fast on 2 nodes as on 16": replace(base, node_exponent=0.0),
        "AlltoAll slows in proportion to nodes": replace(base, node_exponent=1.0),
        "full bandwidth at any message size": replace(base, half_message_bytes=0.0),
        "half of it at 8 MB": replace(base, half_message_bytes=8e6),
        "half of it at 64 MB": replace(base, half_message_bytes=64e6),
    }
    if quick:
        return {**dense, **network}
    tables = {
        f"{count} tables": replace(base, assumptions=replace(given, tables=count)) for count in (500, 750, 1500, 2000)
    }
    unlike = {
        f"sizes of tables: sigma {sigma:g}": replace(base, assumptions=replace(given, spread=sigma))
        for sigma in (0.25, 1.0)
    }
    return {**tables, **unlike, **dense, **network}


def constant_rows(fit: Fit) -> Rows:
    """Fields of `Sensitivity`, with `elasticity` and the iteration as it is (`base_ms`), for the fitted model A."""
    setting = fit.applied(Setting())
    base_ms = setting.time.iteration_ms
    return [
        {
            "constant": one.constant,
            "factor": one.factor,
            "divided_ms": one.divided_ms,
            "multiplied_ms": one.multiplied_ms,
            "elasticity": one.elasticity,
            "base_ms": base_ms,
        }
        for one in sensitivity(setting.job, setting.plan)
        if abs(one.elasticity) > 1e-4
    ]


def wrong_hardware(fit: Fit) -> dict[str, float]:
    """What planning with a V100's and the older platform's constants costs: `own_ms, other_ms`."""
    setting = fit.applied(Setting())
    scenario = Scenario(job=setting.job, cluster=setting.cluster)
    own_ms, other_ms = planned_for_other_hardware(scenario, get_cluster("zion"))
    return {"own_ms": own_ms, "other_ms": other_ms}
