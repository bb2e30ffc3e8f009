"""A select that no trial was, put together from what the trials tell of each feature."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.cost_model.composition import CostModel
from planner.mapping.candidate import TrainedCandidate
from planner.mapping.feature_choice import FeatureChoice, choose_features
from planner.mapping.trial_gains import TrialGains, gains_from_trials
from planner.study.device import DeviceSection
from profiles.units import format_bytes
from representations.specs import ModelSpec
from serving_sim.plan import Workload

__all__ = ["SELECT_BY_GAIN", "FeatureSuggestion", "suggest_features"]

SELECT_BY_GAIN = "select-by-gain"
_US_PER_MS = 1000.0


@dataclass(frozen=True, kw_only=True, slots=True)
class FeatureSuggestion:
    """What each feature's table gains over a DHE, and which are worth it within one device's memory and the SLA.

    `choice` is None with a `reason` where the trials do not tell. Quality is a prediction: `model` was never trained.
    """

    device: str
    gains: TrialGains
    choice: FeatureChoice | None
    reason: str = ""

    @property
    def model(self) -> ModelSpec | None:
        """The base with the tables that were chosen."""
        if self.choice is None or self.gains.base is None:
            return None
        return self.choice.model(self.gains.base, SELECT_BY_GAIN)

    def to_object(self) -> dict[str, Any]:
        """JSON-ready."""
        taken = self.choice.taken if self.choice else ()
        return {
            "device": self.device,
            "trials": self.gains.trials,
            "reason": self.reason,
            "undecided": list(self.gains.undecided),
            "predicted_gain": self.choice.gain if self.choice else None,
            "gap": self.choice.gap if self.choice else None,
            "features": [
                {
                    "features": list(one.features),
                    "gain": one.accuracy_gain,
                    "std_error": one.std_error,
                    "extra_bytes": one.extra_bytes,
                    "extra_us": one.extra_us,
                    "is_table": one in taken,
                }
                for one in self.gains.gains
            ],
        }


def suggest_features(
    candidates: Sequence[TrainedCandidate],
    device: DeviceSection,
    cost_model: CostModel,
    workload: Workload,
    zipf: Mapping[str, float] | float = 0.0,
) -> FeatureSuggestion:
    """Start from a DHE for every feature; add tables by what they gain per byte and per microsecond.

    Time is that of one query of the workload's mean size.
    """
    size = max(1, round(workload.sizes.mean))

    def latency_us(model: ModelSpec) -> float:
        return _US_PER_MS * float(cost_model.predict_model(model, (size,), device.name, zipf).mean_ms[0])

    gains = gains_from_trials(candidates, latency_us)
    if gains.base is None:
        return FeatureSuggestion(device=device.name, gains=gains, choice=None, reason=gains.reason)
    free_bytes = device.memory_bytes - gains.base.parameter_bytes
    free_us = _US_PER_MS * workload.sla_ms - latency_us(gains.base)
    if free_bytes < 0 or free_us < 0:
        short = f"memory by {format_bytes(-free_bytes)}" if free_bytes < 0 else f"the SLA by {-free_us:,.0f} us"
        reason = f"a DHE for every feature passes {short}"
        return FeatureSuggestion(device=device.name, gains=gains, choice=None, reason=reason)
    choice = choose_features(gains.gains, free_bytes=free_bytes, free_us=free_us)
    return FeatureSuggestion(device=device.name, gains=gains, choice=choice)
