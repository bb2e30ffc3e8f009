"""A difference of two profiles as lines for the terminal."""

from collections.abc import Iterator, Mapping

from profiles.analyses.diff import Difference, MetricDiff, ProfileDiff
from profiles.units import format_bytes, format_count, format_ms

__all__ = ["METRIC_TITLES", "difference_lines", "format_amount", "format_change", "module_text", "total_text"]

METRIC_TITLES: Mapping[str, str] = {
    "latency_ms": "latency in the model",
    "flops": "FLOPs",
    "parameter_bytes": "parameters and buffers",
    "memory_bytes": "memory at the model's peak",
}
_BAR_CELLS = 10
_MOST_NAME = 48


def difference_lines(diff: ProfileDiff, most: int = 12) -> list[str]:
    """The changed modules, then by metric the totals and up to `most` modules that differ by more than noise.

    Bars and percentages are a module's part of all that changed, up or down.
    """
    lines = [f"{diff.before_name} → {diff.after_name}", *_changed(diff)]
    for metric in diff.metrics:
        lines += ["", *_metric(metric, most)]
    return [*lines, *([""] if diff.notes else []), *(f"note: {note}" for note in diff.notes)]


def format_amount(metric: str, value: float) -> str:
    """A metric's value with its unit."""
    if metric.endswith("_ms"):
        return format_ms(value)
    if metric.endswith("_bytes"):
        return format_bytes(value)
    return format_count(value, "FLOP" if metric == "flops" else "")


def format_change(metric: str, value: float) -> str:
    """As `format_amount`, with its sign."""
    sign = "+" if value > 0 else "−" if value < 0 else ""
    return sign + format_amount(metric, abs(value))


def total_text(metric: MetricDiff) -> str:
    """Before, after, and the change, also as a share."""
    share = f" ({metric.change_share:+.1%})" if metric.change_share is not None and metric.change else ""
    change = f"{format_change(metric.name, metric.change)}{share}" if metric.change else "no change"
    noise = ", within the noise" if metric.change and metric.is_noise else ""
    return f"{format_amount(metric.name, metric.before)} → {format_amount(metric.name, metric.after)}, {change}{noise}"


def module_text(before_path: str | None, after_path: str | None) -> str:
    """A module's path; where it stood, if elsewhere; `new` or `removed`, if it is in one model only."""
    path = after_path if after_path is not None else before_path
    name = path or "the model itself"
    if before_path is None:
        return f"{name} (new)"
    if after_path is None:
        return f"{name} (removed)"
    return name if before_path == after_path else f"{name} (was {before_path or 'the model itself'})"


def _changed(diff: ProfileDiff) -> Iterator[str]:
    if not diff.changed:
        yield "no module was made otherwise"
    for one in diff.changed:
        effects = [
            f"{METRIC_TITLES.get(name, name)} {format_change(name, value)}"
            for name, value in one.savings.items()
            if value
        ]
        yield f"changed: {module_text(one.before_path, one.after_path)}: {', '.join(effects) or 'all totals are equal'}"


def _metric(metric: MetricDiff, most: int) -> Iterator[str]:
    yield f"{METRIC_TITLES.get(metric.name, metric.title)}: {total_text(metric)}"
    moved = sum(abs(one.part.change) for one in metric.differences)
    shown = metric.named[:most]
    names = [_name(one) for one in shown]
    size = min(max(map(len, names), default=0), _MOST_NAME)
    for name, one in zip(names, shown, strict=True):
        part = one.part
        amounts = f"{format_amount(metric.name, part.before)} → {format_amount(metric.name, part.after)}"
        share = abs(part.change) / moved
        bar = "█" * round(share * _BAR_CELLS)
        change = format_change(metric.name, part.change)
        yield f"  {name:<{size}}  {change:>12}  {bar:<{_BAR_CELLS}} {share:4.0%}  {amounts}"
    if left := metric.named[most:]:
        yield f"  ... {len(left)} more, together {format_change(metric.name, sum(one.part.change for one in left))}"
    if noisy := len(metric.differences) - len(metric.named):
        together = format_change(metric.name, metric.noise_change)
        yield f"  {noisy} {'module' if noisy == 1 else 'modules'} within the noise, together {together}"


def _name(one: Difference) -> str:
    phase = "" if one.part.phase == "forward" else f" [{one.part.phase}]"
    return module_text(one.part.before_path, one.part.after_path) + phase
