"""The component table: one line per component with every figure, rows of one depth together."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from profiles.records import ComponentProfile, Latency
from profiles.units import MS_PER_S

__all__ = ["component_figures", "component_table"]

_TEXTS = ("path", "name", "class_name", "kind", "device", "dtype", "provenance", "reason", "inputs")
_COUNTS = ("depth", "batch", "calls", "parameter_bytes", "peak_memory_bytes")


def component_table(rows: Sequence[ComponentProfile]) -> pl.DataFrame:
    """One line per row, level by level, each level in the order given; columns as of `component_figures`."""
    ordered = sorted(rows, key=lambda row: row.depth)
    return pl.DataFrame([component_figures(row) for row in ordered], schema=_schema(), orient="row")


def component_figures(row: ComponentProfile) -> dict[str, Any]:
    """The figures of a row under names with units; `latency_ms` is in the model where known, else alone and warm."""
    latency = row.in_situ or row.warm
    alone_ms = row.warm.median_ms if row.warm else None
    return {
        "path": row.path,
        "name": row.path.rpartition(".")[2] or row.class_name,
        "class_name": row.class_name,
        "kind": row.kind,
        "device": row.device,
        "dtype": row.dtype,
        "provenance": row.provenance,
        "reason": row.reason,
        "inputs": row.spec,
        "depth": row.depth,
        "batch": row.batch,
        "calls": row.calls,
        "parameter_bytes": row.parameter_bytes,
        "peak_memory_bytes": row.peak_memory_bytes,
        "latency_ms": latency.median_ms if latency else None,
        "in_situ_over_alone": _ratio(row.in_situ, row.warm),
        "cold_over_warm": _ratio(row.cold, row.warm),
        **{f"{name}_ms": _median(value) for name, value in _latencies(row).items()},
        **{f"{name}_iqr_ms": value.iqr_ms if value else None for name, value in _latencies(row).items()},
        "cpu_ms": row.warm.cpu_ms if row.warm else None,
        "wall_over_cpu": row.warm.wall_over_cpu if row.warm else None,
        "flops": row.flops,
        "tflops_per_s": _rate(row.flops, alone_ms, 1e12),
        "mfu": row.mfu,
        "bytes_moved": row.bytes_moved,
        "gigabytes_per_s": _rate(row.bytes_moved, alone_ms, 1e9),
        "bandwidth_share": row.bandwidth_share,
    }


def _latencies(row: ComponentProfile) -> Mapping[str, Latency | None]:
    return {"in_situ": row.in_situ, "warm": row.warm, "cold": row.cold}


def _median(latency: Latency | None) -> float | None:
    return latency.median_ms if latency else None


def _ratio(latency: Latency | None, other: Latency | None) -> float | None:
    return latency.median_ms / other.median_ms if latency and other and other.median_ms > 0 else None


def _rate(amount: float | None, latency_ms: float | None, unit: float) -> float | None:
    return amount * MS_PER_S / latency_ms / unit if amount is not None and latency_ms else None


def _schema() -> dict[str, type[pl.DataType]]:
    latencies = [f"{name}_{figure}" for figure in ("ms", "iqr_ms") for name in ("in_situ", "warm", "cold")]
    floats = ("cpu_ms", "wall_over_cpu", "flops", "tflops_per_s", "mfu", "bytes_moved", "gigabytes_per_s")
    return {
        **dict.fromkeys(_TEXTS, pl.String),
        **dict.fromkeys(_COUNTS, pl.Int64),
        **dict.fromkeys(
            ("latency_ms", "in_situ_over_alone", "cold_over_warm", *latencies, *floats, "bandwidth_share"), pl.Float64
        ),
    }
