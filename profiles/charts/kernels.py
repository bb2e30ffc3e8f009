"""Time by kernel under each module: a bar per module, a colour per kernel."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import altair as alt
import polars as pl

from profiles.charts.theme import PALETTE, themed
from profiles.kernel_time import KernelTime

__all__ = ["kernel_chart", "kernel_frame"]

OUTSIDE, MODEL = "outside all modules", "the model itself"
OTHERS, OTHER_MODULES = "other kernels", "other modules"
_SCHEMA = {
    "module": pl.String,
    "kernel": pl.String,
    "milliseconds": pl.Float64,
    "calls": pl.Float64,
    "share": pl.Float64,
    "rank": pl.Int64,
}
_MOST_BARS, _MOST_KERNELS, _LEAST_BAR = 24, 6, 0.002
_BAR_HEIGHT = 22
_OTHERS_COLOUR = "#B4BEC6"


def kernel_frame(kernels: Sequence[KernelTime], *, phase: str = "forward") -> pl.DataFrame:
    """Milliseconds and calls per pass by module and kernel, the slowest module first (`rank`); `share` is of them all.

    Modules stand for all that they hold, as deep in the tree as leaves at most 24 of them. Modules beyond these
    or with less than 0.2 % of the time, and kernels beyond the six with the most, are summed.
    """
    chosen = [kernel for kernel in kernels if kernel.phase == phase]
    depth = _depth([kernel.path for kernel in chosen if kernel.path])
    names = _leading([(kernel.kernel, kernel.milliseconds) for kernel in chosen], _MOST_KERNELS)
    modules = _leading(
        [(_module(kernel.path, depth), kernel.milliseconds) for kernel in chosen], _MOST_BARS, _LEAST_BAR
    )
    ranks = {module: rank for rank, module in enumerate([*modules, OTHER_MODULES])}
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for kernel in chosen:
        module = _module(kernel.path, depth)
        name = kernel.kernel if kernel.kernel in names else OTHERS
        part = sums[module if module in modules else OTHER_MODULES, name]
        part[0] += kernel.milliseconds
        part[1] += kernel.calls
    whole = sum(kernel.milliseconds for kernel in chosen)
    lines = [
        (module, kernel, part[0], part[1], part[0] / whole if whole else None, ranks[module])
        for (module, kernel), part in sums.items()
    ]
    frame = pl.DataFrame(lines, schema=_SCHEMA, orient="row")
    return frame.sort("rank", "milliseconds", descending=[False, True], maintain_order=True)


def kernel_chart(kernels: Sequence[KernelTime], *, phase: str = "forward", width: int = 900) -> alt.Chart:
    """Bars of `kernel_frame`, the slowest module on top."""
    frame = kernel_frame(kernels, phase=phase)
    modules = list(dict.fromkeys(frame["module"]))
    totals = frame.group_by("kernel").agg(pl.col("milliseconds").sum()).sort("milliseconds", descending=True)
    names = [name for name in totals["kernel"] if name != OTHERS]
    colours = [*PALETTE[: len(names)], _OTHERS_COLOUR]
    chart: alt.Chart = (
        alt.Chart(frame)
        .mark_bar(stroke="white", strokeWidth=0.6)
        .encode(
            x=alt.X("milliseconds:Q", title="ms per pass", stack="zero"),
            y=alt.Y("module:N", sort=modules, title=None, axis=alt.Axis(labelLimit=260)),
            color=alt.Color(
                "kernel:N",
                title="kernel",
                scale=alt.Scale(domain=[*names, OTHERS], range=colours),
                legend=alt.Legend(orient="top", columns=4, labelLimit=260),
            ),
            tooltip=[
                alt.Tooltip("module:N"),
                alt.Tooltip("kernel:N"),
                alt.Tooltip("milliseconds:Q", format=".3~g"),
                alt.Tooltip("share:Q", format=".1%", title="of all kernels' time"),
                alt.Tooltip("calls:Q", format=".3~g", title="calls per pass"),
            ],
        )
        .properties(width=width, height=_BAR_HEIGHT * max(len(modules), 1))
    )
    return themed(chart)


def _leading(times: Iterable[tuple[str, float]], most: int, least_share: float = 0.0) -> list[str]:
    """The names with the most time in all, at least this share of it, the most first."""
    sums: dict[str, float] = defaultdict(float)
    for name, milliseconds in times:
        sums[name] += milliseconds
    least = least_share * sum(sums.values())
    return [name for name in sorted(sums, key=lambda name: -sums[name])[:most] if sums[name] >= least]


def _depth(paths: Sequence[str]) -> int:
    """The deepest level at which the paths come to few enough bars, at least the first."""
    deepest = max((path.count(".") + 1 for path in paths), default=1)
    fitting = [depth for depth in range(1, deepest + 1) if len({_module(path, depth) for path in paths}) <= _MOST_BARS]
    return max(fitting, default=1)


def _module(path: str | None, depth: int) -> str:
    if path is None:
        return OUTSIDE
    return ".".join(path.split(".")[:depth]) or MODEL
