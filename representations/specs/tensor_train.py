"""The spec of tensor-train embeddings."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from profiles.errors import InputError
from representations.specs.feature import Feature
from representations.specs.sizes import BYTES_PER_FLOAT, require_positive

__all__ = ["TensorTrainSpec", "dim_factors", "row_factors"]

_CORES = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class TensorTrainSpec:
    """A table as a chain of small tensors (TT-Rec, Yin et al., arXiv 2101.11714).

    With rows p1 p2 ... >= n and dim = q1 q2 ..., core t holds p_t matrices of R x (q_t R), the first and last with 1
    for the outer R. An id's digits in the mixed radix p name one matrix per core; their product is its row. Factors not
    given are chosen: three, as even as possible.
    """

    kind: ClassVar[str] = "tensor-train"
    dim: int
    rank: int = 16
    row_factors: tuple[int, ...] = ()
    dim_factors: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("row_factors", "dim_factors"):
            factors = tuple(getattr(self, name))
            object.__setattr__(self, name, factors)
            require_positive("tensor-train", **{f"{name}[{i}]": factor for i, factor in enumerate(factors)})
        require_positive("tensor-train", dim=self.dim, rank=self.rank)
        if self.dim_factors and math.prod(self.dim_factors) != self.dim:
            raise InputError(f"tensor-train: dim_factors must multiply to {self.dim}, but got {self.dim_factors}")
        if self.row_factors and len(self.row_factors) != len(self.q):
            raise InputError(f"tensor-train: needs {len(self.q)} row_factors, but got {self.row_factors}")
        if len(self.q) < 2:
            raise InputError(f"tensor-train: needs at least two factors, but got {self.dim_factors}")

    @property
    def width(self) -> int:
        """Floats per sample that come out."""
        return self.dim

    @property
    def q(self) -> tuple[int, ...]:
        """The factors of the dim, given or chosen."""
        return self.dim_factors or dim_factors(self.dim, _CORES)

    @property
    def ranks(self) -> tuple[int, ...]:
        """1, R, ..., R, 1: the inner sizes of the chain, one more than cores."""
        return (1, *(self.rank,) * (len(self.q) - 1), 1)

    def p(self, feature: Feature) -> tuple[int, ...]:
        """The factors of the rows, given or chosen; together at least the feature's rows."""
        factors = self.row_factors or row_factors(feature.cardinality, len(self.q))
        if math.prod(factors) < feature.cardinality:
            raise InputError(
                f"tensor-train: row_factors {factors} give {math.prod(factors)} rows, "
                f"but feature {feature.name!r} has {feature.cardinality}"
            )
        return factors

    def core_shapes(self, feature: Feature) -> tuple[tuple[int, int, int], ...]:
        """(p_t, R_before, q_t x R_after) of each core."""
        return tuple(
            (p, before, q * after)
            for p, q, (before, after) in zip(self.p(feature), self.q, pairwise(self.ranks), strict=True)
        )

    def parameter_bytes(self, feature: Feature) -> int:
        """The sum of p_t x R_before x q_t x R_after, x 4."""
        return sum(math.prod(shape) for shape in self.core_shapes(feature)) * BYTES_PER_FLOAT


def row_factors(rows: int, count: int) -> tuple[int, ...]:
    """`count` factors whose product is at least `rows` and little more: the root, rounded up, of what is left."""
    if count == 1:
        return (rows,)
    root = _root(rows, count)
    return (root, *row_factors(-(-rows // root), count - 1))


def dim_factors(dim: int, count: int) -> tuple[int, ...]:
    """`count` ascending factors whose product is `dim`, the largest one as small as can be."""
    if count == 1:
        return (dim,)
    largest = next(factor for factor in range(_root(dim, count), dim + 1) if dim % factor == 0)
    return tuple(sorted((*dim_factors(dim // largest, count - 1), largest)))


def _root(value: int, count: int) -> int:
    """The least integer whose `count`-th power reaches `value`."""
    guess = max(1, round(math.pow(value, 1 / count)) - 1)
    while guess**count < value:
        guess += 1
    return guess
