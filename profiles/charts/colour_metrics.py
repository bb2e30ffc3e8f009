"""The metrics that can colour an icicle, and how their values read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["ICICLE_METRICS", "ColourMetric", "chosen", "colour_limits", "legend_title", "reading"]

# Of fewer values each one counts.
_LEAST_VALUES = 10
_TAIL = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class ColourMetric:
    """A column of the icicle's frame: its title, how its numbers are written (a d3 format), and their unit.

    A ratio has no whole that its values are parts of, so that a single outlier may say nothing; its colours end at
    quantiles.
    """

    name: str
    title: str
    number: str = ".3~g"
    unit: str = ""
    is_ratio: bool = False


ICICLE_METRICS: Mapping[str, ColourMetric] = {
    metric.name: metric
    for metric in (
        ColourMetric(name="latency_ms", title="latency", unit=" ms"),
        ColourMetric(name="flops", title="FLOPs", number=".3~s", unit="FLOP"),
        ColourMetric(name="tflops_per_s", title="TFLOP/s", unit=" TFLOP/s", is_ratio=True),
        ColourMetric(name="mfu", title="MFU", number=".2~%", is_ratio=True),
        ColourMetric(name="gigabytes_per_s", title="GB/s", unit=" GB/s", is_ratio=True),
        ColourMetric(name="bandwidth_share", title="share of bandwidth", number=".2~%", is_ratio=True),
        ColourMetric(name="parameter_bytes", title="parameters", number=".3~s", unit="B"),
        ColourMetric(name="peak_memory_bytes", title="peak memory", number=".3~s", unit="B"),
        ColourMetric(name="in_situ_over_alone", title="time in the model over alone", unit="×", is_ratio=True),
        ColourMetric(name="cold_over_warm", title="time cold over warm", unit="×", is_ratio=True),
    )
}


def colour_limits(metric: ColourMetric, values: Sequence[float]) -> tuple[float, float]:
    """Where the colours of known values begin and end; of a ratio with many values at the 5 % and 95 % quantiles."""
    ranked = sorted(values) or [0.0]
    if not _is_clamped(metric, ranked):
        return ranked[0], ranked[-1]
    last = len(ranked) - 1
    return ranked[round(_TAIL * last)], ranked[round((1 - _TAIL) * last)]


def legend_title(metric: ColourMetric, values: Sequence[float]) -> str:
    """The metric with its unit, and how its colours are spread."""
    unit = metric.unit.strip()
    shown = metric.title if not unit or unit in metric.title else f"{metric.title}, {unit}"
    clamped = ", clamped to the 5–95 % quantiles" if _is_clamped(metric, values) else ""
    return f"{shown} (square-root scale{clamped})"


def _is_clamped(metric: ColourMetric, values: Sequence[float]) -> bool:
    return metric.is_ratio and len(values) >= _LEAST_VALUES


def chosen(parameter: str, by_name: Mapping[str, str], otherwise: str) -> str:
    """A Vega expression: the expression that belongs to the name that `parameter` holds."""
    text = otherwise
    for name, expression in by_name.items():
        text = f"{parameter} === '{name}' ? {expression} : {text}"
    return f"({text})"


def reading(metrics: Iterable[ColourMetric], parameter: str, value: str) -> str:
    """A Vega expression: `value` as text with its unit, by the metric that `parameter` names."""
    return chosen(parameter, {metric.name: _text(metric, value) for metric in metrics}, f"format({value}, '.3~g')")


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
