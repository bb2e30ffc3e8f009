"""Labelled components that tests fit the cost model on: `python -m tests.benchmarks.component_labels FILE`.

A fixed design of each kind is measured while the core is quiet, each component by two halves of its visits (3 to 5
minutes). `--store DIR` labels the visits that a sweep left there instead of measuring.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from planner.cost_model.noise import paired_labels
from planner.pipeline.sweeping import sweep_options
from planner.study import load_study
from profiles.component import Component
from profiles.records import Fingerprint
from profiles.store import ProfileStore
from profiles.sweep import sweep
from profiles.sweep_options import SweepOptions
from representations.provider import RecommendationProvider
from tests.benchmarks.space_filling import DESIGNS, design

__all__ = ["main", "write_labels"]

_STUDY = Path(__file__).parent.parent.parent / "docs" / "examples" / "quickstart.toml"
_SCHEMA = "recplan.component_labels/1"
_PER_KIND = 56
_GROUP_BYTES = 6 * 10**9


def write_labels(file: Path, store: ProfileStore, components: Sequence[Component], options: SweepOptions) -> int:
    """Write the labels of those of the components that the store holds visits of; returns how many."""
    fingerprint = next(row.fingerprint for row in store.load())
    visits = [visit for visit in store.visits() if visit.warm]
    labels = paired_labels(visits, options)
    key = fingerprint.device_key()
    rows = [
        {
            "spec": json.loads(component.spec()),
            "batch": component.batch,
            "label_ms": round(labels[name][0], 8),
            "second_ms": round(labels[name][1], 8),
        }
        for component in components
        if (name := component.content_hash(key)) in labels
    ]
    lines = [json.dumps(_header(fingerprint, visits=options.visits)), *map(json.dumps, rows)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(rows)


def _header(fingerprint: Fingerprint, *, visits: int) -> dict[str, object]:
    return {"schema": _SCHEMA, "fingerprint": asdict(fingerprint), "visits_per_label": visits}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, or label what was measured, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("file", type=Path)
    parser.add_argument("--store", type=Path, help="a store that holds visits of the design")
    given = parser.parse_args(arguments)
    components = [component for kind in DESIGNS for component in design(kind, _PER_KIND, seed=0)]
    options = sweep_options(load_study(_STUDY))
    with TemporaryDirectory() as folder:
        store = ProfileStore(given.store or Path(folder))
        if not given.store:
            twice = replace(
                options, visits=2 * options.visits, most_visits=2 * options.most_visits, group_bytes=_GROUP_BYTES
            )
            sweep(components, RecommendationProvider(), store, options=twice)
        print(f"{given.file}: {write_labels(given.file, store, components, options)} components")  # noqa: T201


if __name__ == "__main__":
    main()
