"""The metrics that can colour an icicle, and how their values read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ["ICICLE_METRICS", "ColourMetric", "reading"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ColourMetric:
    """A column of the icicle's frame: its title, how its numbers are written (a d3 format), and their unit."""

    name: str
    title: str
    number: str = ".3~g"
    unit: str = ""


ICICLE_METRICS: Mapping[str, ColourMetric] = {
    metric.name: metric
    for metric in (
        ColourMetric(name="latency_ms", title="latency", unit=" ms"),
        ColourMetric(name="flops", title="FLOPs", number=".3~s", unit="FLOP"),
        ColourMetric(name="tflops_per_s", title="TFLOP/s", unit=" TFLOP/s"),
        ColourMetric(name="mfu", title="MFU", number=".2~%"),
        ColourMetric(name="gigabytes_per_s", title="GB/s", unit=" GB/s"),
        ColourMetric(name="bandwidth_share", title="share of bandwidth", number=".2~%"),
        ColourMetric(name="parameter_bytes", title="parameters", number=".3~s", unit="B"),
        ColourMetric(name="peak_memory_bytes", title="peak memory", number=".3~s", unit="B"),
        ColourMetric(name="in_situ_over_alone", title="time in the model over alone", unit="×"),
        ColourMetric(name="cold_over_warm", title="time cold over warm", unit="×"),
    )
}


def reading(metrics: Iterable[ColourMetric], parameter: str, value: str) -> str:
    """A Vega expression: `value` as text with its unit, by the metric that `parameter` names."""
    text = f"format({value}, '.3~g')"
    for metric in metrics:
        text = f"{parameter} === '{metric.name}' ? {_text(metric, value)} : {text}"
    return f"({text})"


def _text(metric: ColourMetric, value: str) -> str:
    number = f"format({value}, '{metric.number}')"
    if metric.number.endswith("s"):
        # The prefix belongs to the unit: 54.5 MFLOP.
        number = f"replace({number}, /([a-zA-Zµ]?)$/, ' $1')"
    text = f"{number} + '{metric.unit}'"
    if metric.unit == " ms":
        seconds, micros = f"format({value} / 1000, '.3~g') + ' s'", f"format({value} * 1000, '.3~g') + ' µs'"
        text = f"(abs({value}) >= 1000 ? {seconds} : abs({value}) < 1 && {value} !== 0 ? {micros} : {text})"
    return text
