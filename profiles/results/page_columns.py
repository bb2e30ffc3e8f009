"""The columns of the components' table: what each holds, which stand even where nothing is known, and why it is not."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from profiles.hardware import catalogue
from profiles.model_profile import ModelProfile
from profiles.records import ComponentProfile
from profiles.results.page_blocks import Column

__all__ = ["COMPONENT_COLUMNS", "SHOWN_FIGURES", "ComponentColumn", "missing_note"]

Value = Callable[[ComponentProfile, Mapping[str, float | None]], float | None]

BYTES_PER_MB = 1e6
# Figures of further profilers that have a column of their own among the components'.
SHOWN_FIGURES = frozenset({"cpu_time_ms", "gpu_time_ms"})
_OF_PEAKS = frozenset({"MFU, %", "Bandwidth use, %"})


@dataclass(frozen=True, kw_only=True, slots=True)
class ComponentColumn:
    """A column and its value, of a row and its component figures; one that `is_kept` stands although all is unknown.

    `is_needless` tells the rows to which the figure does not apply.
    """

    column: Column
    value: Value
    is_kept: bool = False
    is_needless: Callable[[ComponentProfile], bool] = lambda _: False

    def absent_text(self, row: ComponentProfile) -> str:
        """What stands for a value that a row lacks and others have."""
        return "n/a" if self.is_needless(row) else ""


def _column(title: str, note: str, value: Value, **more: Any) -> ComponentColumn:
    return ComponentColumn(column=Column(title=title, note=note), value=value, **more)


def _spread_percent(row: ComponentProfile) -> float | None:
    return 100 * row.warm.iqr_ms / row.warm.median_ms if row.warm and row.warm.median_ms else None


def _scaled(value: float | None, factor: float) -> float | None:
    return value * factor if value is not None else None


COMPONENT_COLUMNS: Sequence[ComponentColumn] = (
    _column("Latency, ms", "median inside the running model", lambda _, known: known["in_situ_ms"], is_kept=True),
    _column("Alone, ms", "median by itself, data in the caches", lambda _, known: known["warm_ms"]),
    _column("Cold, ms", "median by itself, caches swept before", lambda _, known: known["cold_ms"]),
    _column("± IQR, %", "interquartile range over the median, alone", lambda row, _: _spread_percent(row)),
    _column(
        "Size, MB",
        "parameters and buffers, each storage once",
        lambda row, _: _scaled(row.parameter_bytes, 1 / BYTES_PER_MB),
        is_kept=True,
    ),
    _column("GFLOP", "2 per multiply-add", lambda row, _: _scaled(row.flops, 1e-9)),
    _column("TFLOP/s", "achieved alone", lambda _, known: known["tflops_per_s"], is_kept=True),
    _column(
        "MFU, %",
        "achieved over the device's dense peak; not applicable where nothing is multiplied",
        lambda row, _: _scaled(row.mfu, 100),
        is_kept=True,
        is_needless=lambda row: row.flops == 0,
    ),
    _column("CPU, ms", "CPU time alone, data in the caches", lambda _, known: known["cpu_ms"], is_kept=True),
    _column(
        "CPU under profiler, ms",
        "time of operators on the host, which the profiler slows",
        lambda row, _: row.figures.get("cpu_time_ms"),
    ),
    _column("GPU, ms", "time of kernels on the device", lambda row, _: row.figures.get("gpu_time_ms"), is_kept=True),
    _column("GB/s", "estimated average bandwidth, alone", lambda _, known: known["gigabytes_per_s"], is_kept=True),
    _column(
        "Bandwidth use, %",
        "over the device's memory bandwidth",
        lambda row, _: _scaled(row.bandwidth_share, 100),
        is_kept=True,
    ),
    _column(
        "Peak, MB",
        "peak memory alone; of aggregated rows a lower bound",
        lambda row, _: _scaled(row.peak_memory_bytes, 1 / BYTES_PER_MB),
        is_kept=True,
    ),
    _column("Calls", "per pass", lambda row, _: float(row.calls)),
)


def missing_note(profile: ModelProfile, empty: Sequence[ComponentColumn]) -> str:
    """One sentence on the columns that no row fills: why, and which are left out; empty where all are known."""
    titles = [column.column.title for column in empty if column.is_kept]
    reasons = _reasons(profile, titles)
    left_out = [_short(column.column.title) for column in empty if not column.is_kept]
    parts = [*reasons, *([f"left out: {', '.join(left_out)}"] if left_out else [])]
    return f"Not known here (–): {'; '.join(parts)}." if parts else ""


def _reasons(profile: ModelProfile, titles: Sequence[str]) -> list[str]:
    peaks = [_short(title) for title in titles if title in _OF_PEAKS]
    others = [_short(title) for title in titles if title not in _OF_PEAKS and title != "GPU, ms"]
    found = []
    if peaks:
        found.append(f"{' and '.join(peaks)}, {_why_no_peak(profile.rows[0])}")
    if "GPU, ms" in titles:
        found.append(f"GPU time, {_why_no_gpu_time(profile)}")
    return [*found, *([f"{', '.join(others)}, not measured"] if others else [])]


def _why_no_peak(root: ComponentProfile) -> str:
    hardware = catalogue().get(root.device)
    if hardware is None or not (hardware.peak(root.dtype) and hardware.bandwidth_bytes_per_s):
        return f"as no published peak is known for {root.device} in {root.dtype}"
    return "as no module has both a time alone and the work that it does"


def _why_no_gpu_time(profile: ModelProfile) -> str:
    hardware = catalogue().get(profile.rows[0].device)
    if hardware is not None and hardware.family == "cpu":
        return "as no GPU took part"
    return "as kernels were not analysed (the profiler “kernels” does)"


def _short(title: str) -> str:
    return title.partition(",")[0]
