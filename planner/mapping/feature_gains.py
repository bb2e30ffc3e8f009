"""What another embedding of one feature gains in accuracy, and what it takes: bytes and microseconds."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from profiles.errors import InputError, UnknownNameError
from representations.specs import EmbeddingSpec, ModelSpec

__all__ = ["FeatureGain", "Pricer", "measure_gains", "with_embeddings"]

# Microseconds that one query takes.
Pricer = Callable[[ModelSpec], float]


@dataclass(frozen=True, kw_only=True, slots=True)
class FeatureGain:
    """The change that `embedding` makes where all else stays: more accuracy is better, more bytes and time worse.

    `features` are those that change together, mostly one. `std_error` is of the gain, None where it is not known.
    """

    features: tuple[str, ...]
    embedding: EmbeddingSpec
    accuracy_gain: float
    extra_bytes: int
    extra_us: float
    std_error: float | None = None

    def __post_init__(self) -> None:
        if not self.features:
            raise InputError("feature gain: needs at least one feature")
        for name in ("accuracy_gain", "extra_us"):
            if not math.isfinite(getattr(self, name)):
                raise InputError(f"feature gain: {name} must be finite, but got {getattr(self, name)}")

    @property
    def per_byte(self) -> float:
        """Accuracy gained per byte; infinite where a gain takes none, minus infinite where a loss takes none."""
        return _ratio(self.accuracy_gain, self.extra_bytes)

    @property
    def per_us(self) -> float:
        """Accuracy gained per microsecond, as `per_byte`."""
        return _ratio(self.accuracy_gain, self.extra_us)

    @property
    def name(self) -> str:
        """The features in one word."""
        return "+".join(self.features)


def measure_gains(
    base: ModelSpec,
    options: Mapping[str, Sequence[EmbeddingSpec]],
    accuracy: Callable[[ModelSpec], float],
    latency_us: Pricer,
) -> tuple[FeatureGain, ...]:
    """Each option's gain over the base: one model per option is judged by `accuracy`, and the base itself.

    Raises:
        UnknownNameError: an option for a feature that the base does not have.
        InputError: an option that makes no model (a width that the interaction does not take).
    """
    base_accuracy, base_us = accuracy(base), latency_us(base)
    gains = []
    for feature, embeddings in options.items():
        for embedding in embeddings:
            model = with_embeddings(base, {feature: embedding})
            gains.append(
                FeatureGain(
                    features=(feature,),
                    embedding=embedding,
                    accuracy_gain=accuracy(model) - base_accuracy,
                    extra_bytes=model.parameter_bytes - base.parameter_bytes,
                    extra_us=latency_us(model) - base_us,
                )
            )
    return tuple(gains)


def with_embeddings(base: ModelSpec, chosen: Mapping[str, EmbeddingSpec], name: str = "") -> ModelSpec:
    """The model with other embeddings for some of its features.

    Raises:
        UnknownNameError: a feature that it does not have.
        InputError: embeddings of widths that its interaction does not take.
    """
    names = [feature.name for feature in base.features]
    for feature in chosen:
        if feature not in names:
            raise UnknownNameError("feature", feature, names)
    embeddings = tuple(chosen.get(own, embedding) for own, embedding in zip(names, base.embeddings, strict=True))
    return replace(base, name=name or base.name, embeddings=embeddings)


def _ratio(gain: float, cost: float) -> float:
    if cost > 0:
        return gain / cost
    return math.copysign(math.inf, gain) if gain else 0.0
