"""The dense part of a job from its layers' widths, or from published totals."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

from planner.distributed.iteration.dense_stack import NO_LAYERS, DenseStack, perceptron
from planner.distributed.tables import EmbeddingTable
from profiles.errors import InputError

__all__ = ["DenseLayers", "layers_from_totals", "layers_from_widths"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DenseLayers:
    """Bottom and top layers, and the interaction between them: FLOPs, and numbers read and written, per sample."""

    bottom: DenseStack = NO_LAYERS
    top: DenseStack = NO_LAYERS
    interaction_flops: float = 0.0
    interaction_numbers: float = 0.0
    dense_features: int = 0


def layers_from_widths(
    tables: Sequence[EmbeddingTable],
    *,
    dense_features: int = 0,
    bottom_mlp: Sequence[int] = (),
    interaction: Literal["dot", "concat"] = "dot",
    top_mlp: Sequence[int] = (),
) -> DenseLayers:
    """DLRM's layers: the bottom's output and the pooled vectors interact, the top follows.

    `dot` takes the products of all pairs of vectors, beside the bottom's output; `concat` the vectors as they are.

    Raises:
        InputError: products are asked of vectors of different widths; names the first that differs.
    """
    bottom = perceptron((dense_features, *bottom_mlp)) if bottom_mlp else NO_LAYERS
    vectors = [(table.name, table.dim) for table in tables]
    vectors += [("bottom_mlp", bottom_mlp[-1])] if bottom_mlp else []
    if not top_mlp or not vectors:
        return DenseLayers(bottom=bottom, dense_features=dense_features)
    whole = sum(width for _, width in vectors)
    if interaction == "concat":
        top = perceptron((whole, *top_mlp))
        return DenseLayers(bottom=bottom, top=top, interaction_numbers=2.0 * whole, dense_features=dense_features)
    width = vectors[0][1]
    for name, other in vectors:
        if other != width:
            raise InputError(
                f"interaction: dot needs vectors of one width, but {name} has {other} and {vectors[0][0]} has {width}"
            )
    pairs = len(vectors) * (len(vectors) - 1) // 2
    return DenseLayers(
        bottom=bottom,
        top=perceptron((pairs + (width if bottom_mlp else 0), *top_mlp)),
        # All products are made, of which one triangle is kept.
        interaction_flops=2.0 * len(vectors) ** 2 * width,
        interaction_numbers=float(whole + len(vectors) ** 2),
        dense_features=dense_features,
    )


def layers_from_totals(mflops_per_sample: float, layers: int = 2) -> DenseLayers:
    """Half of the FLOPs and layers in the bottom, half in the top; square layers with a parameter for each 2 FLOPs.

    Raises:
        InputError: fewer than two layers.
    """
    if layers < 2:
        raise InputError(f"layers: must be >= 2, but got {layers}")
    if not mflops_per_sample:
        return DenseLayers()
    first = layers // 2
    return DenseLayers(bottom=_square(mflops_per_sample / 2, first), top=_square(mflops_per_sample / 2, layers - first))


def _square(mflops_per_sample: float, layers: int) -> DenseStack:
    parameters = mflops_per_sample * 1e6 / 2
    width = sqrt(parameters / layers)
    return DenseStack(
        flops_per_sample=mflops_per_sample * 1e6,
        parameters=round(parameters),
        layers=layers,
        activations_per_sample=2.0 * width * layers,
    )
