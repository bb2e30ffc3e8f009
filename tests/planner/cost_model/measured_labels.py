"""Components measured once on a shared machine of two cores, as a fixed data set: each twice, by alternate visits.

Made by `python -m tests.benchmarks.component_labels`: a label is that of half of a component's visits while the core
was quiet, `second_ms` that of the other half, in between.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from planner.cost_model.estimates import Floats
from profiles.component import Component, make_component

__all__ = ["MeasuredFamily", "measured_families"]

_FILE = Path(__file__).parents[2] / "data" / "component_labels.jsonl"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MeasuredFamily:
    """Components of one family with both labels, arrays of shape [N]."""

    components: tuple[Component, ...]
    label_ms: Floats
    second_ms: Floats


@cache
def measured_families() -> dict[str, MeasuredFamily]:
    """By family; those of fewer than 20 rows are left out."""
    from planner.cost_model.features import family_of

    _, *lines = _FILE.read_text(encoding="utf-8").splitlines()
    found: dict[str, list[tuple[Component, float, float]]] = {}
    for row in map(json.loads, lines):
        spec = row["spec"]
        kind, dtype, phase = spec.pop("kind"), spec.pop("dtype"), spec.pop("pass")
        component = make_component(kind, row["batch"], spec, dtype=dtype, phase=phase)
        found.setdefault(family_of(component), []).append((component, row["label_ms"], row["second_ms"]))
    return {
        name: MeasuredFamily(
            components=tuple(component for component, *_ in rows),
            label_ms=np.array([label for _, label, _ in rows]),
            second_ms=np.array([second for *_, second in rows]),
        )
        for name, rows in found.items()
        if len(rows) >= 20
    }
