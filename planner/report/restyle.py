"""Other packages' charts in the page's look: dashes and hollow marks mean one thing there, the grade of a figure.

These work on Vega-Lite as plain objects, so that any chart fits whose rows have a `provenance`.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from planner.report.provenance import GRADES
from profiles.charts.theme import PALETTE, PROVENANCE_DASHES

__all__ = ["AREA_FILLS", "DASHES", "FILLS", "grade_marks", "undash"]

DASHES = tuple(PROVENANCE_DASHES[name] for name in GRADES)
FILLS = (1.0, 0.55, 0.0)
# An area without any fill looks like a gap between its neighbours.
AREA_FILLS = (1.0, 0.55, 0.18)
# Too small for a dashed edge.
_POINTS = frozenset({"circle", "point", "square"})
_LINES = frozenset({"line", "rule", "trail"})


def undash(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec with solid rules and lines, few ticks on log axes, and the page's colours where it lists its own."""
    body: dict[str, Any] = json.loads(json.dumps(spec))
    for view in _views(body):
        mark = view.get("mark")
        if isinstance(mark, dict):
            mark.pop("strokeDash", None)
            if mark.get("type") == "rule" and "color" not in view.get("encoding", {}):
                mark["color"] = "#333"
        for channel in view.get("encoding", {}).values():
            _thin_log_axis(channel)
        scale = (view.get("encoding", {}).get("color") or {}).get("scale") or {}
        if isinstance(scale.get("range"), list) and len(scale["range"]) <= len(PALETTE):
            scale["range"] = list(PALETTE[: len(scale["range"])])
    return body


def grade_marks(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec with coloured marks drawn by their row's `provenance`: lines dashed, points paler to hollow, bars pale
    with a dashed edge.
    """
    body: dict[str, Any] = json.loads(json.dumps(spec))
    for view in _views(body):
        encoding = view.get("encoding", {})
        if "field" not in (encoding.get("color") or {}):
            continue
        mark = view["mark"] if isinstance(view["mark"], dict) else {"type": view["mark"]}
        view["mark"] = mark
        if mark["type"] not in _POINTS:
            encoding["strokeDash"] = _by_grade("nominal", list(DASHES))
        if mark["type"] not in _LINES:
            encoding["stroke"] = encoding["color"]
            fills = FILLS if mark["type"] in _POINTS else AREA_FILLS
            encoding["fillOpacity"] = _by_grade("ordinal", list(fills))
            mark["filled"] = True
            mark.setdefault("strokeWidth", 1.2)
    return body


def _thin_log_axis(channel: Any) -> None:
    """Ticks at powers of ten alone, where a log axis spans several."""
    scale = channel.get("scale") if isinstance(channel, dict) else None
    if isinstance(scale, dict) and scale.get("type") == "log" and channel.get("axis", {}) is not None:
        channel["axis"] = {"tickCount": 3, **channel.get("axis", {})}


def _by_grade(kind: str, values: list[Any]) -> dict[str, Any]:
    # Said outright: for an opacity, an ordinal field would get a point scale, which knows two ends only.
    scale = {"type": "ordinal", "domain": list(GRADES), "range": values}
    return {"field": "provenance", "type": kind, "scale": scale, "legend": None}


def _views(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The spec's single views, layers inside layers included."""
    if "mark" in spec:
        yield spec
    for key in ("layer", "hconcat", "vconcat", "concat"):
        for part in spec.get(key, ()):
            yield from _views(part)
