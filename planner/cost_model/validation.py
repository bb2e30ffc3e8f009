"""How good the cost model is on what it has not seen, beside the noise of the measurements themselves."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.cost_model.accuracy import ErrorSummary, rank_agreement, summarise_errors
from planner.cost_model.composition import CostModel, ModelLatency
from planner.cost_model.context import Context, fit_context
from planner.cost_model.estimates import DeviceModel
from planner.cost_model.family import HeldOut
from planner.cost_model.features import family_of
from planner.cost_model.model import FittedDeviceModel
from planner.cost_model.noise import NoiseFloor, Remeasure, noise_floor
from planner.cost_model.training_rows import WHOLE_MODEL, contention_notes
from planner.cost_model.whole_models import MeasuredModel
from profiles.component import Component
from profiles.hardware import LOCAL_CPU

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ComposedError", "KindError", "ValidationReport", "context_of", "validate"]


@dataclass(frozen=True, kw_only=True, slots=True)
class KindError:
    """Held-out errors of one kind of component."""

    kind: str
    errors: ErrorSummary


@dataclass(frozen=True, kw_only=True, slots=True)
class ComposedError:
    """Errors of whole models predicted as sums; `kendall_tau` is None where no two models share a batch."""

    errors: ErrorSummary
    kendall_tau: float | None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ValidationReport:
    """All errors are fractions. `composed` is of plain sums; `composed_in_context` of sums corrected by a `Context`
    learned from the other models. `points` holds one row per held-out component and per whole model:

    `kind, component, batch, measured_ms, predicted_ms, low_ms, high_ms, held_out`.
    """

    noise_floor: NoiseFloor
    components: tuple[KindError, ...]
    composed: ComposedError | None
    composed_in_context: ComposedError | None
    interval_coverage_90: float | None
    points: "pl.DataFrame"
    notes: tuple[str, ...]

    def to_object(self) -> dict[str, Any]:
        """The JSON form; `composed` holds nulls where no whole model was measured."""
        return {
            "unit": "fraction",
            "noise_floor": asdict(self.noise_floor),
            "components": [{"kind": one.kind, **asdict(one.errors)} for one in self.components],
            "composed": _composed_object(self.composed),
            "composed_in_context": _composed_object(self.composed_in_context),
            "interval_coverage_90": self.interval_coverage_90,
            "notes": list(self.notes),
        }


def validate(
    model: FittedDeviceModel,
    whole_models: Sequence[MeasuredModel],
    *,
    seed: int = 0,
    zipf: Mapping[str, float] | float = 0.0,
    remeasure: Remeasure | None = None,
) -> ValidationReport:
    """Held-out error per kind, composed error on measured models, coverage of the intervals, and the noise floor.

    A component is held out with all batches of its shape, five folds in turn. `zipf` is the id skew that the whole
    models were measured under.
    """
    held_out = [family.held_out for family in model.families.values()]
    sums = _sums(model, whole_models, zipf)
    points = [point for one in held_out for point in _held_out_points(one)]
    inside = [point["low_ms"] <= point["measured_ms"] <= point["high_ms"] for point in points]
    return ValidationReport(
        noise_floor=noise_floor(model.rows, remeasure, seed=seed),
        components=_by_kind(held_out),
        composed=_composed(whole_models, [float(one.mean_ms[0]) for one in sums]),
        composed_in_context=_composed(whole_models, _in_held_out_context(whole_models, sums)),
        interval_coverage_90=float(np.mean(inside)) if inside else None,
        points=_frame([*points, *_model_points(whole_models, sums)]),
        notes=(*model.notes, *contention_notes("whole models", [one.latency for one in whole_models])),
    )


def _by_kind(held_out: Sequence[HeldOut]) -> tuple[KindError, ...]:
    by_kind: dict[str, list[HeldOut]] = {}
    for one in held_out:
        if one.components:
            by_kind.setdefault(one.components[0].kind, []).append(one)
    return tuple(
        KindError(
            kind=kind,
            errors=summarise_errors(
                np.concatenate([part.measured_ms for part in parts]),
                np.concatenate([part.predicted_ms for part in parts]),
            ),
        )
        for kind, parts in sorted(by_kind.items())
    )


def context_of(
    model: DeviceModel, whole_models: Sequence[MeasuredModel], zipf: Mapping[str, float] | float = 0.0
) -> Context:
    """The context that measured models teach, for `CostModel.contexts`."""
    return _fit_context(whole_models, _sums(model, whole_models, zipf))


def _sums(
    model: DeviceModel, whole_models: Sequence[MeasuredModel], zipf: Mapping[str, float] | float
) -> list[ModelLatency]:
    """Each measured model as the plain sum of its components at its batch."""
    cost_model = CostModel(models={LOCAL_CPU: model})
    return [cost_model.predict_model(one.spec, (one.batch,), LOCAL_CPU, zipf) for one in whole_models]


def _fit_context(whole_models: Sequence[MeasuredModel], sums: Sequence[ModelLatency]) -> Context:
    return fit_context(
        np.array([one.latency.p25_ms for one in whole_models]),
        np.array([float(one.mean_ms[0]) for one in sums]),
        [len(one.components) for one in sums],
    )


def _in_held_out_context(whole_models: Sequence[MeasuredModel], sums: Sequence[ModelLatency]) -> list[float]:
    """Each model in the context that the other models teach, at whatever batch."""
    predicted = []
    for one, alone in zip(whole_models, sums, strict=True):
        others = [i for i, other in enumerate(whole_models) if other.spec != one.spec]
        context = _fit_context([whole_models[i] for i in others], [sums[i] for i in others])
        extra_ms = context.per_component_ms * len(alone.components)
        predicted.append(context.stretch * float(alone.mean_ms[0]) + extra_ms)
    return predicted


def _composed(whole_models: Sequence[MeasuredModel], predicted_ms: Sequence[float]) -> ComposedError | None:
    if not whole_models:
        return None
    measured, predicted = np.array([one.latency.p25_ms for one in whole_models]), np.array(predicted_ms)
    tau = rank_agreement([one.batch for one in whole_models], measured, predicted)
    return ComposedError(errors=summarise_errors(measured, predicted), kendall_tau=tau)


def _composed_object(composed: ComposedError | None) -> dict[str, Any]:
    if composed is None:
        return dict.fromkeys(("rows", "mape", "median", "p90", "within_10", "bias", "kendall_tau"))
    return {**asdict(composed.errors), "kendall_tau": composed.kendall_tau}


def _model_points(whole_models: Sequence[MeasuredModel], sums: Sequence[ModelLatency]) -> list[dict[str, Any]]:
    return [
        _point(
            WHOLE_MODEL,
            one.spec.name,
            one.batch,
            one.latency.p25_ms,
            float(alone.mean_ms[0]),
            (float(alone.low_ms[0]), float(alone.high_ms[0])),
        )
        for one, alone in zip(whole_models, sums, strict=True)
    ]


def _held_out_points(one: HeldOut) -> list[dict[str, Any]]:
    low, high = one.predicted_ms * np.exp(-one.half_widths), one.predicted_ms * np.exp(one.half_widths)
    columns = (one.measured_ms, one.predicted_ms, low, high)
    return [
        _point(component.kind, _label(component), component.batch, measured, predicted, (low_ms, high_ms))
        for component, measured, predicted, low_ms, high_ms in zip(
            one.components, *(column.tolist() for column in columns), strict=True
        )
    ]


def _label(component: Component) -> str:
    sizes = [f"{name}={value}" for name, value in component.shape if not isinstance(value, str)]
    return " ".join((family_of(component), *sizes))


def _point(
    kind: str, component: str, batch: int, measured_ms: float, predicted_ms: float, interval_ms: tuple[float, float]
) -> dict[str, Any]:
    return {
        "kind": kind,
        "component": component,
        "batch": batch,
        "measured_ms": measured_ms,
        "predicted_ms": predicted_ms,
        "low_ms": interval_ms[0],
        "high_ms": interval_ms[1],
        "held_out": True,
    }


def _frame(points: Sequence[dict[str, Any]]) -> "pl.DataFrame":
    import polars as pl

    schema = {
        "kind": pl.String,
        "component": pl.String,
        "batch": pl.Int64,
        "measured_ms": pl.Float64,
        "predicted_ms": pl.Float64,
        "low_ms": pl.Float64,
        "high_ms": pl.Float64,
        "held_out": pl.Boolean,
    }
    return pl.DataFrame(list(points), schema=schema)
