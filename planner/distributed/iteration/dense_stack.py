"""A stack of fully connected layers, as far as its time depends on it: from its widths, or from published totals."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from profiles.errors import InputError

__all__ = ["NO_LAYERS", "DenseStack", "perceptron"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DenseStack:
    """`flops_per_sample` of the forward pass (2 per multiply-accumulate), all `parameters`, and the `layers` of them.

    `activations_per_sample` are the numbers that pass between layers, inputs and outputs too. `widths` are those of
    the inputs and of each layer where they are known, so that layers can be looked up among measured ones.
    """

    flops_per_sample: float
    parameters: int
    layers: int
    activations_per_sample: float = 0.0
    widths: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("flops_per_sample", "parameters", "layers", "activations_per_sample"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise InputError(f"{name}: must be finite and >= 0, but got {getattr(self, name)}")
        if (self.flops_per_sample or self.parameters) and not self.layers:
            raise InputError(f"layers: must be >= 1 for {self.parameters} parameters, but got 0")
        if self.widths and len(self.widths) != self.layers + 1:
            raise InputError(f"widths: must be {self.layers + 1} for {self.layers} layers, but got {len(self.widths)}")


NO_LAYERS = DenseStack(flops_per_sample=0.0, parameters=0, layers=0)


def perceptron(widths: Sequence[int]) -> DenseStack:
    """The stack of linear layers with biases from `widths[0]` inputs to `widths[-1]` outputs.

    Raises:
        InputError: fewer than two widths, or one below 1.
    """
    if len(widths) < 2 or min(widths) < 1:
        raise InputError(f"widths: must be two or more, each >= 1, but got {list(widths)}")
    return DenseStack(
        flops_per_sample=2.0 * sum(a * b for a, b in pairwise(widths)),
        parameters=sum((a + 1) * b for a, b in pairwise(widths)),
        layers=len(widths) - 1,
        activations_per_sample=float(sum(a + b for a, b in pairwise(widths))),
        widths=tuple(widths),
    )
