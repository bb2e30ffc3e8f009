"""A whole model's error split over its components, so that errors which cancel in the total show.

Measured is what each module took while the whole model ran (in situ), and for the total what the model took while
nothing was watched, by itself or in passes between the watched ones; predicted is what the cost model says of it there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from planner.cost_model.composition import HOST_LINK, ComponentLatency, CostModel
from planner.cost_model.containers import container_shares
from planner.cost_model.context import IDENTITY, Context
from planner.cost_model.whole_models import WholeModelProvider
from profiles.errors import InputError
from profiles.hardware import LOCAL_CPU
from profiles.model_profile import ModelProfile
from profiles.profile_options import ProfileOptions
from representations.specs import ModelSpec

__all__ = ["REST", "ComponentError", "ComponentErrors", "component_errors", "profile_in_situ"]

REST = "(rest)"
_ONLY_THE_MODEL = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ComponentError:
    """One component of a model at a batch, as it was measured there and as it was predicted."""

    path: str
    kind: str
    measured_ms: float
    predicted_ms: float

    @property
    def difference_ms(self) -> float:
        """Predicted less measured."""
        return self.predicted_ms - self.measured_ms


@dataclass(frozen=True, kw_only=True, slots=True)
class ComponentErrors:
    """The total and its parts, in execution order.

    The row of path and kind `(rest)` is what the model took outside all components, and what the context adds for it:
    the calls of containers. Measured it is negative where watching single calls made these longer by more than that.
    """

    batch: int
    measured_ms: float
    predicted_ms: float
    rows: tuple[ComponentError, ...]

    @property
    def error(self) -> float:
        """Relative error of the total."""
        return self.predicted_ms / self.measured_ms - 1

    @property
    def gross_error(self) -> float:
        """Sum of the parts' absolute errors over the measured total: what the total's error would be, did none cancel.

        Never below the absolute error of the total.
        """
        return sum(abs(row.difference_ms) for row in self.rows) / self.measured_ms

    @property
    def cancelled(self) -> float:
        """How much of the gross error cancels."""
        return self.gross_error - abs(self.error)

    def by_kind(self) -> tuple[ComponentError, ...]:
        """Sums over the components of each kind, the largest error first; paths are empty."""
        kinds: dict[str, list[ComponentError]] = {}
        for row in self.rows:
            kinds.setdefault(row.kind, []).append(row)
        sums = [
            ComponentError(
                path="",
                kind=kind,
                measured_ms=sum(row.measured_ms for row in rows),
                predicted_ms=sum(row.predicted_ms for row in rows),
            )
            for kind, rows in kinds.items()
        ]
        return tuple(sorted(sums, key=lambda row: -abs(row.difference_ms)))


def component_errors(
    cost_model: CostModel,
    spec: ModelSpec,
    profile: ModelProfile,
    device: str,
    zipf: Mapping[str, float] | float = 0.0,
) -> ComponentErrors:
    """The components of a profiled model beside their predictions.

    Raises:
        InputError: the profile has no in-situ time of the model or of a component: it is another model's.
    """
    measured = {row.path: row.in_situ.p25_ms for row in profile.modules if row.in_situ and row.phase == "forward"}
    batch = profile.rows[0].batch
    latency = cost_model.predict_model(spec, (batch,), device, zipf)
    parts = latency.at(batch)
    missing = [part.path for part in parts if part.path not in measured and part.kind != HOST_LINK]
    if "" not in measured or missing:
        where = f"component {missing[0]!r}" if missing else "the model itself"
        raise InputError(f"profile of {profile.name or spec.name!r}: has no in-situ time of {where}")
    calls_ms = _container_calls_ms(parts, cost_model.contexts.get(device, IDENTITY))
    rows = [
        ComponentError(
            path=part.path,
            kind=part.kind,
            measured_ms=measured.get(part.path, 0.0),
            predicted_ms=part.mean_ms - call_ms,
        )
        for part, call_ms in zip(parts, calls_ms, strict=True)
    ]
    total_ms = _total_ms(profile) or measured[""]
    rest_ms = total_ms - sum(row.measured_ms for row in rows)
    rows.append(ComponentError(path=REST, kind=REST, measured_ms=rest_ms, predicted_ms=sum(calls_ms)))
    return ComponentErrors(batch=batch, measured_ms=total_ms, predicted_ms=float(latency.mean_ms[0]), rows=tuple(rows))


def _total_ms(profile: ModelProfile) -> float | None:
    """What the model took unwatched, the 25th percentile as for labels: the lower of two, since disturbances only add.

    One is of the model run by itself, the other, on a processor, of the passes between the watched ones: it is some
    hundredths above the first, as a watched pass leaves less in the caches, but shares every slow spell with the parts.
    """
    root = profile.rows[0]
    interleaved_ms = profile.costs.get("forward_p25_ms") if root.device == LOCAL_CPU else None
    alone_ms = root.warm.p25_ms if root.warm else None
    return min((known_ms for known_ms in (interleaved_ms, alone_ms) if known_ms is not None), default=None)


def _container_calls_ms(parts: Sequence[ComponentLatency], context: Context) -> list[float]:
    """What of each prediction the context put there for calls of containers; none in that of the host's link."""
    shares = container_shares([part.path for part in parts])
    return [
        0.0 if part.kind == HOST_LINK else context.per_container_ms * share
        for part, share in zip(parts, shares.tolist(), strict=True)
    ]


def profile_in_situ(
    spec: ModelSpec, batch: int, zipf: Mapping[str, float] | float = 0.0, *, options: ProfileOptions | None = None
) -> ModelProfile:
    """A profile of the model with random weights and inputs in which its modules are watched, and none is run alone.

    `options.include` is set here; its other values, such as visits and threads, are the caller's.
    """
    import torch

    from profiles.walk import profile_model

    provider = WholeModelProvider(specs=(spec,), zipf=zipf)
    wanted = options or ProfileOptions(threads=1)
    built = provider.build(provider.component(spec, batch), 0)
    with torch.inference_mode():
        return profile_model(built.module.eval(), built.args, options=replace(wanted, include=(_ONLY_THE_MODEL,)))
