"""What the mapping chooses from: trained models with their quality."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from profiles.errors import InputError
from representations.specs import DheSpec, HybridSpec, ModelSpec

__all__ = ["MEASURES", "Measure", "TrainedCandidate"]

Measure = Literal["accuracy", "auc", "log_loss"]
MEASURES: tuple[Measure, ...] = ("accuracy", "auc", "log_loss")
_NAMES: Mapping[str, str] = {"accuracy": "accuracy", "auc": "AUC", "log_loss": "log loss"}


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainedCandidate:
    """A trained model. `accuracy` is the share of correct predictions on held-out data.

    `measure` says by which of the three figures candidates are compared.
    """

    name: str
    model: ModelSpec
    accuracy: float
    auc: float | None = None
    log_loss: float | None = None
    measure: Measure = "accuracy"

    def __post_init__(self) -> None:
        if getattr(self, self.measure) is None:
            raise InputError(f"candidate {self.name!r}: is compared by {self.measure}, but has none")
        if not 0 <= self.accuracy <= 1:
            raise InputError(f"candidate {self.name!r}: accuracy must be in [0, 1], but got {self.accuracy}")

    @property
    def quality(self) -> float:
        """The figure by which candidates are compared; more is better."""
        value = float(getattr(self, self.measure))
        return -value if self.measure == "log_loss" else value

    @property
    def quality_text(self) -> str:
        """The figure with its name: `AUC 0.6447`."""
        return f"{_NAMES[self.measure]} {getattr(self, self.measure):.4f}"

    @property
    def representation(self) -> str:
        """What the model calls its embeddings: `table`, `select`, `tensor-train`, `mixed` and the like."""
        return self.model.representation

    @property
    def role(self) -> Literal["table", "dhe", "hybrid"]:
        """What it can be to Algorithm 1: a hybrid with any hybrid, a DHE with any DHE, else a table.

        So what looks rows up, however compressed, counts as a table, and a select as a DHE.
        """
        kinds = {type(embedding) for embedding in self.model.embeddings}
        return "hybrid" if HybridSpec in kinds else "dhe" if DheSpec in kinds else "table"

    @property
    def parameter_bytes(self) -> int:
        """What the model takes of a device's memory."""
        return self.model.parameter_bytes

    @property
    def largest_k(self) -> int:
        """The most hash functions that any feature uses, 0 without a DHE: the paper's accuracy knob."""
        parts = [e.dhe if isinstance(e, HybridSpec) else e for e in self.model.embeddings]
        return max((part.k for part in parts if isinstance(part, DheSpec)), default=0)
