"""Charts of a review: pure functions to rows, and thin renderers to Vega-Lite."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from planner.report.blocks import Rows
from planner.report.frames import frame_of
from planner.report.restyle import grade_marks
from planner.review.comparison import DeviceDiff
from planner.review.pricing import DeviceReview, ModelReview

__all__ = ["change_rows", "change_spec", "component_rows", "component_spec", "kind_rows", "kind_spec"]

_MOST_KINDS = 6
_OTHER = "other kinds"
_MOST_BARS = 16
_BAR_HEIGHT = 30
_MORE, _LESS = "slower", "faster"
_COLOURS = {_MORE: "#D55E00", _LESS: "#0072B2"}


def kind_rows(reviews: Sequence[ModelReview]) -> Rows:
    """`model, device, kind, latency_ms, share, provenance`: of kinds beyond the six longest, one row for all."""
    devices = [(review.name, device) for review in reviews for device in review.devices]
    totals: dict[str, float] = {}
    for _, device in devices:
        for kind, latency_ms in device.by_kind.items():
            totals[kind] = max(totals.get(kind, 0.0), latency_ms / device.latency_ms)
    named = sorted(totals, key=lambda kind: -totals[kind])[:_MOST_KINDS]
    return tuple(
        {
            "model": model,
            "device": device.name,
            "bar": _bar(model, device, len(reviews)),
            "kind": kind,
            "latency_ms": latency_ms,
            "share": latency_ms / device.latency_ms,
            "provenance": device.provenance,
        }
        for model, device in devices
        for kind, latency_ms in _named_kinds(device, named).items()
    )


def kind_spec(rows: Rows) -> dict[str, Any]:
    """One stacked bar per model and device."""
    bars = list(dict.fromkeys(row["bar"] for row in rows))
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    chart = (
        alt.Chart(frame_of(tuple({**row, "order": kinds.index(row["kind"])} for row in rows)))
        .mark_bar(height={"band": 0.66}, stroke="white", strokeWidth=1)
        .encode(
            x=alt.X("latency_ms:Q", title="latency (ms)", stack="zero"),
            y=alt.Y("bar:N", title=None, sort=bars, axis=alt.Axis(labelLimit=260)),
            color=alt.Color("kind:N", title=None, sort=kinds),
            order=alt.Order("order:Q"),
            tooltip=[
                alt.Tooltip("bar:N", title="model and device"),
                alt.Tooltip("kind:N"),
                alt.Tooltip("latency_ms:Q", format=".3s", title="latency (ms)"),
                alt.Tooltip("share:Q", format=".1%"),
                alt.Tooltip("provenance:N", title="latency is"),
            ],
        )
    )
    return {**_graded(chart.to_dict()), "width": "container", "height": _BAR_HEIGHT * max(2, len(bars))}


def component_rows(review: ModelReview) -> Rows:
    """Every component on every device: the fields of `ComponentCost`, and its `label`."""
    from dataclasses import asdict

    labels = _labels([row.path for row in review.devices[0].components]) if review.devices else []
    return tuple(
        {"label": labels[i] if i < len(labels) else row.path, **asdict(row)}
        for device in review.devices
        for i, row in enumerate(device.components)
    )


def component_spec(rows: Rows) -> dict[str, Any]:
    """The components that take most on some device, as bars with 90 % intervals, a bar for each device."""
    devices = list(dict.fromkeys(row["device"] for row in rows))
    shown = _longest(rows, max(6, _MOST_BARS // len(devices)))
    labels = list(dict.fromkeys(row["label"] for row in shown))
    base = alt.Chart(frame_of(shown)).encode(
        y=alt.Y("label:N", title=None, sort=labels, axis=alt.Axis(labelLimit=260)),
        yOffset=alt.YOffset("device:N", sort=devices),
    )
    tooltip = [
        alt.Tooltip("path:N"),
        alt.Tooltip("shape:N"),
        alt.Tooltip("device:N"),
        alt.Tooltip("latency_ms:Q", format=".3s", title="latency (ms)"),
        alt.Tooltip("low_ms:Q", format=".3s", title="90 % from (ms)"),
        alt.Tooltip("high_ms:Q", format=".3s", title="to (ms)"),
        alt.Tooltip("share:Q", format=".1%"),
        alt.Tooltip("provenance:N", title="latency is"),
    ]
    bars = base.mark_bar().encode(
        x=alt.X("latency_ms:Q", title="latency (ms), with its 90 % interval"),
        color=alt.Color("device:N", title="device", sort=devices),
        tooltip=tooltip,
    )
    intervals = base.mark_rule(color="#333", strokeWidth=1.4).encode(x="low_ms:Q", x2="high_ms:Q", tooltip=tooltip)
    spec = _graded(alt.layer(bars, intervals).to_dict())
    return {**spec, "width": "container", "height": 22 * len(labels) * max(1, len(devices) * 2 // 3)}


def change_rows(diff: DeviceDiff) -> Rows:
    """Every component that differs, by its part in the difference, and its `label` and `direction`."""
    changed = [one for one in diff.components if one.change_ms]
    labels = _labels([one.path for one in changed])
    return tuple(
        {**one.to_object(), "label": label, "direction": _MORE if one.change_ms > 0 else _LESS}
        for one, label in zip(changed, labels, strict=True)
    )


def change_spec(rows: Rows) -> dict[str, Any]:
    """Bars to the right for what takes longer in the target, to the left for what takes less; the rest summed up."""
    shown = [*rows[:_MOST_BARS]]
    if rest := rows[_MOST_BARS:]:
        change_ms = sum(row["change_ms"] for row in rest)
        direction = _MORE if change_ms > 0 else _LESS
        label = f"{len(rest)} more components"
        shown.append({**rest[0], "label": label, "path": label, "shape": "", "before_ms": None, "after_ms": None,
                      "change_ms": change_ms, "direction": direction})  # fmt: skip
    labels = [row["label"] for row in shown]
    chart = (
        alt.Chart(frame_of(tuple(shown)))
        .mark_bar(height={"band": 0.7})
        .encode(
            x=alt.X("change_ms:Q", title="difference of latency (ms)", axis=alt.Axis(format="+~g")),
            y=alt.Y("label:N", title=None, sort=labels, axis=alt.Axis(labelLimit=260)),
            color=alt.Color(
                "direction:N", title=None, scale=alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values()))
            ),
            tooltip=[
                alt.Tooltip("path:N"),
                alt.Tooltip("kind:N"),
                alt.Tooltip("shape:N"),
                alt.Tooltip("before_ms:Q", format=".3s", title="before (ms)"),
                alt.Tooltip("after_ms:Q", format=".3s", title="after (ms)"),
                alt.Tooltip("change_ms:Q", format="+.3s", title="difference (ms)"),
            ],
        )
    )
    return {**chart.to_dict(), "width": "container", "height": 22 * max(2, len(labels))}


def _graded(spec: dict[str, Any]) -> dict[str, Any]:
    """Marks drawn by their grade, with one legend for fill and edge."""
    body = grade_marks(spec)
    for view in body.get("layer", [body]):
        if "stroke" in view.get("encoding", {}):
            view["encoding"]["stroke"] = {**view["encoding"]["stroke"], "legend": None}
    return body


def _bar(model: str, device: DeviceReview, models: int) -> str:
    return f"{model} on {device.name}" if models > 1 else device.name


def _named_kinds(device: DeviceReview, named: Sequence[str]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for kind in named:
        if kind in device.by_kind:
            sums[kind] = device.by_kind[kind]
    if rest := sum(latency_ms for kind, latency_ms in device.by_kind.items() if kind not in named):
        sums[_OTHER] = rest
    return sums


def _labels(paths: Sequence[str]) -> list[str]:
    """The paths, numbered where several components stand at one."""
    seen: dict[str, int] = {}
    labels = []
    for path in paths:
        seen[path] = seen.get(path, 0) + 1
        labels.append(path if seen[path] == 1 else f"{path} ({seen[path]})")
    return labels


def _longest(rows: Rows, most: int) -> Rows:
    longest: dict[str, float] = {}
    for row in rows:
        longest[row["label"]] = max(longest.get(row["label"], 0.0), row["share"])
    kept = sorted(longest, key=lambda label: -longest[label])[:most]
    return tuple(sorted((row for row in rows if row["label"] in kept), key=lambda row: kept.index(row["label"])))
