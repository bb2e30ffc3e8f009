"""What the mapping chooses from: trained models with their quality."""

from dataclasses import dataclass

from profiles.errors import InputError
from representations.specs import DheSpec, HybridSpec, ModelSpec

__all__ = ["TrainedCandidate"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainedCandidate:
    """A trained model. `accuracy` is the share of correct predictions on held-out data."""

    name: str
    model: ModelSpec
    accuracy: float
    auc: float | None = None
    log_loss: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.accuracy <= 1:
            raise InputError(f"candidate {self.name!r}: accuracy must be in [0, 1], but got {self.accuracy}")

    @property
    def representation(self) -> str:
        """`table`, `dhe`, `select` or `hybrid`."""
        return self.model.representation

    @property
    def parameter_bytes(self) -> int:
        """What the model takes of a device's memory."""
        return self.model.parameter_bytes

    @property
    def largest_k(self) -> int:
        """The most hash functions that any feature uses, 0 without a DHE: the paper's accuracy knob."""
        parts = [e.dhe if isinstance(e, HybridSpec) else e for e in self.model.embeddings]
        return max((part.k for part in parts if isinstance(part, DheSpec)), default=0)
