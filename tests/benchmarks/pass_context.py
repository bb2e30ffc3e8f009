"""What components cost inside a model beyond the traffic that it moves, learned from models of our own.

These are measured whole, beside their components behind the traffic of a pass, so that what they teach holds for
components measured so, of whatever model.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from planner.cost_model.composition import CostModel
from planner.cost_model.context import Context, WholeSums, fit_context
from planner.cost_model.host_inputs import inputs_of
from planner.cost_model.model import FittedDeviceModel, fit_device_model
from planner.cost_model.pass_counts import joined
from planner.cost_model.traffic import in_pass
from planner.cost_model.training_rows import WHOLE_MODEL
from planner.cost_model.whole_models import WholeModelProvider, WithWholeModels
from profiles.store import ProfileStore
from profiles.sweep import sweep
from profiles.sweep_options import SweepOptions
from representations.components import PlacedComponent, components_of, work_of
from representations.provider import RecommendationProvider
from representations.specs import Feature, ModelSpec, TableSpec

__all__ = ["OWN_MODELS", "learn_context"]

_BATCHES = (1, 16, 256)


def _model(
    name: str,
    tables: tuple[int, int, float],
    widths: tuple[tuple[int, ...], tuple[int, ...]],
    deep: tuple[int, ...] = (),
) -> ModelSpec:
    """`tables` are how many, their rows and pooling; `widths` those of the bottom and the top layers."""
    count, rows, pooling = tables
    bottom, top = widths
    return ModelSpec(
        name=name,
        dense_features=13,
        features=tuple(Feature(name=f"f{i}", cardinality=rows, pooling=pooling) for i in range(count)),
        embeddings=(TableSpec(dim=bottom[-1], backend="torchrec"),) * count,
        bottom_mlp=bottom,
        top_mlp=top,
        interaction="fm" if deep else "dot",
        deep_mlp=deep,
    )


OWN_MODELS = (
    _model("small", (4, 1_000, 1.0), ((64, 16), (64, 1))),
    _model("middling", (8, 20_000, 4.0), ((256, 32), (512, 256, 1))),
    _model("wide", (16, 5_000, 10.0), ((512, 256, 64), (512, 512, 256, 1))),
    _model("deepfm", (8, 10_000, 4.0), ((512, 64), (1,)), (256,)),
)


def learn_context(options: SweepOptions, models: Sequence[ModelSpec] = OWN_MODELS) -> Context:
    """Measure the models at batches of 1, 16 and 256 beside their components, and fit what these lack."""
    whole = WholeModelProvider(specs=tuple(models))
    parts = {spec: [in_pass(components_of(spec, batch), work_of) for batch in _BATCHES] for spec in models}
    components = {one.component: None for placed in parts.values() for at in placed for one in at}
    with TemporaryDirectory() as folder:
        store = ProfileStore(Path(folder))
        provider = WithWholeModels(parts=RecommendationProvider(), models=whole)
        sweep((*components, *whole.components(_BATCHES)), provider, store, options=options)
        rows = [row for row in store.load() if row.provenance == "measured"]
    measured_ms = {(row.spec, row.batch): row.warm.p25_ms for row in rows if row.kind == WHOLE_MODEL and row.warm}
    return fit_context(_sums(fit_device_model(rows, work_of), parts, whole, measured_ms))


def _sums(
    fitted: FittedDeviceModel,
    parts: Mapping[ModelSpec, Sequence[tuple[PlacedComponent, ...]]],
    whole: WholeModelProvider,
    measured_ms: Mapping[tuple[str, int], float],
) -> WholeSums:
    cost_model = CostModel(models={"here": fitted})
    measured, bounds, counts, models = [], [], [], []
    for number, (spec, placed) in enumerate(parts.items()):
        inputs = [inputs_of(spec.features, spec.dense_features, batch) for batch in _BATCHES]
        latency = cost_model.predict_placed(
            placed, _BATCHES, "here", inputs=inputs, resident_bytes=spec.parameter_bytes
        )
        names = [whole.component(spec, batch).spec() for batch in _BATCHES]
        measured += [measured_ms[name, batch] for name, batch in zip(names, _BATCHES, strict=True)]
        bounds.append((latency.mean_ms, latency.low_ms, latency.high_ms))
        counts.append(latency.counts)
        models += [number] * len(_BATCHES)
    mean, low, high = np.concatenate(bounds, axis=1)
    return WholeSums(
        measured_ms=np.array(measured),
        alone_ms=mean,
        low_ms=low,
        high_ms=high,
        counts=joined(counts),
        models_N=np.array(models),
    )
