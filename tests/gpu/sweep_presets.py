"""Measure the components of the presets on one device and leave a folder of JSON-lines parts to bring home.

    python -m tests.gpu.sweep_presets --out DIR [--device cuda:0] [--minutes 4]

Needs torch and numpy only. The parts go into any profile store; a sweep that is cut short keeps its visits and
goes on after them.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from profiles.component import Component
from profiles.devices import resolve_device
from profiles.store import ProfileStore
from profiles.sweep import SweepOptions, SweepProgress, sweep
from representations.assignment import with_representation
from representations.components import components_of, work_of
from representations.presets import get_preset
from representations.provider import RecommendationProvider
from representations.specs import DheSpec, Feature, ModelSpec

__all__ = ["main", "preset_components"]

PRESETS = (("dlrm-kaggle", 16), ("dlrm-terabyte-10m", 64))
DHES = (DheSpec(dim=16, k=128), DheSpec(dim=16, k=1024), DheSpec(dim=16, k=1024, widths=(512, 256)))
BATCHES = (1, 16, 128, 512, 2048, 8192)
MOST_ROWS = 2_000_000


def preset_components(most_rows: int = MOST_ROWS, batches: Sequence[int] = BATCHES) -> tuple[Component, ...]:
    """Every distinct component of the presets under each representation; tables are cut to `most_rows`."""
    models = [model for name, dim in PRESETS for model in _models(_cut(get_preset(name), most_rows), dim)]
    placed = (one for model in models for batch in batches for one in components_of(model, batch, zipf=1.0))
    distinct = {one.component: None for one in placed}
    return tuple(sorted(distinct, key=lambda component: work_of(component).parameter_bytes))


def main(arguments: Sequence[str] | None = None) -> int:
    """Sweep until done or out of time; the exit code is 0 in both cases."""
    parser = argparse.ArgumentParser(description="Measure the presets' components on one device.")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--most-rows", type=int, default=MOST_ROWS)
    parsed = parser.parse_args(arguments)
    deadline = time.monotonic() + 60 * parsed.minutes
    device = resolve_device(parsed.device).name
    components = preset_components(parsed.most_rows)
    store = ProfileStore(parsed.out)
    result = sweep(
        components,
        RecommendationProvider(),
        store,
        device=parsed.device,
        options=SweepOptions(seconds_per_visit=0.01, group_size=64),
        progress=lambda now: _stop_at(deadline, now),
    )
    store.drop_visits()
    sys.stdout.write(f"{device}: {result.measured} measured, {result.reused} reused, {len(result.skipped)} skipped\n")
    return 0


def _stop_at(deadline: float, now: SweepProgress) -> None:
    if time.monotonic() > deadline:
        sys.stdout.write(f"out of time after {now.done} of {now.total}; every visit so far is kept\n")
        raise SystemExit(0)


def _models(base: ModelSpec, dim: int) -> Iterator[ModelSpec]:
    yield with_representation(base, "table", dim=dim)
    for dhe in DHES:
        yield with_representation(base, "dhe", dim=dim, dhe=dhe)
    yield with_representation(base, "hybrid", dim=dim, dhe=DHES[0])


def _cut(spec: ModelSpec, most_rows: int) -> ModelSpec:
    features = tuple(
        Feature(name=feature.name, cardinality=min(feature.cardinality, most_rows), pooling=feature.pooling)
        for feature in spec.features
    )
    return replace(spec, features=features)


if __name__ == "__main__":
    raise SystemExit(main())
