"""How good the cost model is on what it has not seen, beside the noise of the measurements themselves."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.cost_model.accuracy import ErrorSummary, rank_agreement, summarise_errors
from planner.cost_model.context import fit_context, leave_one_model_out
from planner.cost_model.error_frames import KindShare, error_by_batch, error_by_share
from planner.cost_model.estimates import Floats
from planner.cost_model.family import HeldOut
from planner.cost_model.features import family_of
from planner.cost_model.fitter import fitting_on
from planner.cost_model.generalisation import Beyond, beyond_frame, extrapolation, skewed_ids, summary_of
from planner.cost_model.in_situ import InSituErrors, in_situ_frame
from planner.cost_model.learning_curve import CurvePoint, curve_frame, learning_curve, points_for_error
from planner.cost_model.model import FittedDeviceModel
from planner.cost_model.noise import NoiseFloor, Remeasure, noise_floor
from planner.cost_model.training_rows import WHOLE_MODEL, contention_notes
from planner.cost_model.unseen import UnseenDeviceModel
from planner.cost_model.whole_models import MeasuredModel
from planner.cost_model.whole_sums import Summed, sum_models
from profiles.component import Component

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ComposedError", "KindError", "ValidationReport", "validate"]

# A second measurement so far off in the median is of a machine in another state.
_ANOTHER_PACE = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class KindError:
    """Held-out errors of one kind of component."""

    kind: str
    errors: ErrorSummary


@dataclass(frozen=True, kw_only=True, slots=True)
class ComposedError:
    """Errors of whole models; `kendall_tau` is None where no two models share a batch."""

    errors: ErrorSummary
    kendall_tau: float | None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ValidationReport:
    """All errors are fractions. `composed` is of whole models as a new model would be predicted: components held out,
    in the `Context` that the other models teach; `composed_sum` without a context; `composed_known` with components
    answered by their measurements where there are any, as for candidates that were swept.

    `points` holds one row per held-out component and per whole model of `composed`: `kind, component, batch,
    measured_ms, predicted_ms, low_ms, high_ms, held_out`, the last false where a component could not be held out.
    `by_batch` and `by_share` say where these errors lie. `curve`, `extrapolated`, `skewed` and `in_situ` are empty
    unless asked for: the error against the number of points, beyond the largest work, on skews of ids never seen, and
    of the components of a few models while these run.
    """

    noise_floor: NoiseFloor
    components: tuple[KindError, ...]
    composed: ComposedError | None
    composed_sum: ComposedError | None
    composed_known: ComposedError | None
    interval_coverage_90: float | None
    whole_model_coverage_90: float | None
    points: "pl.DataFrame"
    by_batch: "pl.DataFrame"
    by_share: "pl.DataFrame"
    curve: tuple[CurvePoint, ...]
    extrapolated: tuple[Beyond, ...]
    skewed: tuple[Beyond, ...]
    notes: tuple[str, ...]
    in_situ: tuple[InSituErrors, ...] = ()

    @property
    def learning_curve(self) -> "pl.DataFrame":
        """Columns `family, kind, points, order, mape`."""
        return curve_frame(self.curve)

    @property
    def beyond(self) -> "pl.DataFrame":
        """The rows of `extrapolated` and `skewed`, by what was left out."""
        return beyond_frame((*self.extrapolated, *self.skewed))

    @property
    def in_situ_parts(self) -> "pl.DataFrame":
        """The components of `in_situ`, see `in_situ_frame`."""
        return in_situ_frame(self.in_situ)

    def to_object(self) -> dict[str, Any]:
        """The JSON form; `composed` holds nulls where no whole model was measured."""
        return {
            "unit": "fraction",
            "noise_floor": asdict(self.noise_floor),
            "components": [{"kind": one.kind, **asdict(one.errors)} for one in self.components],
            "composed": _composed_object(self.composed),
            "composed_sum": _composed_object(self.composed_sum),
            "composed_known": _composed_object(self.composed_known),
            "interval_coverage_90": self.interval_coverage_90,
            "whole_model_coverage_90": self.whole_model_coverage_90,
            "extrapolation": summary_of(self.extrapolated),
            "skewed_ids_mape": summary_of(self.skewed)["mape"],
            "points_for_10_percent": points_for_error(self.curve),
            "by_batch": self.by_batch.to_dicts(),
            "by_share": self.by_share.to_dicts(),
            "in_situ": [one.to_object() for one in self.in_situ],
            "notes": list(self.notes),
        }


def validate(
    model: FittedDeviceModel,
    whole_models: Sequence[MeasuredModel],
    *,
    seed: int = 0,
    zipf: Mapping[str, float] | float = 0.0,
    remeasure: Remeasure | None = None,
    thorough: bool = False,
    workers: int = 1,
) -> ValidationReport:
    """Held-out error per kind, composed error on measured models, coverage of the intervals, and the noise floor.

    A component is held out with all batches of its shape, five folds in turn, within whole models too; a whole model
    is held out of the context that corrects it. `zipf` is the id skew that the whole models were measured under. A
    `thorough` validation fits some hundred models more, for the learning curve, extrapolation and unseen skews. So
    many `workers` share the fits, this process among them, once these prove long.
    """
    with fitting_on(workers) as fitter:
        model.families.fit_all(fitter)
        curve = learning_curve(model, seed=seed, fitter=fitter) if thorough else ()
        extrapolated = extrapolation(model, seed=seed, fitter=fitter) if thorough else ()
        skewed = skewed_ids(model, seed=seed, fitter=fitter) if thorough else ()
    held_out = [family.held_out for family in model.families.values()]
    unseen_model = UnseenDeviceModel(model)
    unseen, known = (sum_models(one, whole_models, zipf) for one in (unseen_model, model))
    composed, known_ms = (leave_one_model_out(one.sums, fit_context) for one in (unseen, known))
    points = [point for one in held_out for point in _held_out_points(one)]
    model_points = _model_points(whole_models, composed, unseen)
    frame = _frame([*points, *model_points])
    floor = noise_floor(model.rows, remeasure, seed=seed)
    return ValidationReport(
        noise_floor=floor,
        components=_by_kind(held_out),
        composed=_composed(whole_models, composed[0]),
        composed_sum=_composed(whole_models, unseen.sums.alone_ms),
        composed_known=_composed(whole_models, known_ms[0]),
        interval_coverage_90=_coverage(points),
        whole_model_coverage_90=_coverage(model_points),
        points=frame,
        by_batch=error_by_batch(frame),
        by_share=error_by_share(frame, _by_kind_and_model(unseen.shares)),
        curve=curve,
        extrapolated=extrapolated,
        skewed=skewed,
        notes=(
            *model.notes,
            *unseen_model.notes,
            *_seen_notes(unseen),
            *_pace_notes(floor),
            *contention_notes("whole models", [one.latency for one in whole_models]),
        ),
    )


def _by_kind_and_model(shares: Sequence[Mapping[str, float]]) -> list[KindShare]:
    """Each kind's share of each whole model, 0 where the model has none of it."""
    kinds = sorted({kind for one in shares for kind in one})
    return [(kind, one.get(kind, 0.0)) for kind in kinds for one in shares]


def _coverage(points: Sequence[Mapping[str, Any]]) -> float | None:
    inside = [point["low_ms"] <= point["measured_ms"] <= point["high_ms"] for point in points]
    return float(np.mean(inside)) if inside else None


def _seen_notes(unseen: Summed) -> tuple[str, ...]:
    if unseen.predicted_N.all():
        return ()
    seen, count = int(np.sum(~unseen.predicted_N)), len(unseen.predicted_N)
    return (f"{seen} of {count} whole models hold components that could not be held out",)


def _pace_notes(floor: NoiseFloor) -> tuple[str, ...]:
    if floor.bias is None or abs(floor.bias) <= _ANOTHER_PACE:
        return ()
    pace = f"{100 * abs(floor.bias):.0f} % {'slower' if floor.bias > 0 else 'faster'}"
    return (f"measured a second time, components were {pace} (median): the noise floor holds two paces of the machine",)


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


def _composed(whole_models: Sequence[MeasuredModel], predicted_ms: Floats) -> ComposedError | None:
    if not whole_models:
        return None
    measured_ms = np.array([one.latency.p25_ms for one in whole_models])
    tau = rank_agreement([one.batch for one in whole_models], measured_ms, predicted_ms)
    return ComposedError(errors=summarise_errors(measured_ms, predicted_ms), kendall_tau=tau)


def _composed_object(composed: ComposedError | None) -> dict[str, Any]:
    if composed is None:
        return dict.fromkeys(("rows", "mape", "median", "p90", "within_10", "bias", "kendall_tau"))
    return {**asdict(composed.errors), "kendall_tau": composed.kendall_tau}


def _model_points(
    whole_models: Sequence[MeasuredModel], composed: tuple[Floats, Floats, Floats], unseen: Summed
) -> list[dict[str, Any]]:
    columns = (*composed, unseen.predicted_N)
    return [
        _point(
            WHOLE_MODEL, one.spec.name, one.batch, one.latency.p25_ms, mean_ms, (low_ms, high_ms), is_held_out=held_out
        )
        for one, mean_ms, low_ms, high_ms, held_out in zip(
            whole_models, *(column.tolist() for column in columns), strict=True
        )
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
    kind: str,
    component: str,
    batch: int,
    measured_ms: float,
    predicted_ms: float,
    interval_ms: tuple[float, float],
    *,
    is_held_out: bool = True,
) -> dict[str, Any]:
    return {
        "kind": kind,
        "component": component,
        "batch": batch,
        "measured_ms": measured_ms,
        "predicted_ms": predicted_ms,
        "low_ms": interval_ms[0],
        "high_ms": interval_ms[1],
        "held_out": is_held_out,
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
