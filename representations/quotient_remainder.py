"""Two small tables in place of a large one: an id's quotient and remainder name a row each (arXiv 1909.02107).

Shape suffixes: N flat ids of bags, B samples, D floats.
"""

from torch import Tensor, nn

from representations.dhe.embedding import SumPool
from representations.id_range import require_in_range
from representations.interaction import Concat
from representations.specs import Feature, QuotientRemainderSpec, TableSpec
from representations.specs.quotient_remainder import Combination
from representations.table import EmbeddingTable

__all__ = ["Add", "IdSplit", "Multiply", "QuotientRemainderEmbedding", "build_quotient_remainder"]


class IdSplit(nn.Module):
    """ids [N] -> their quotients and remainders by `divisor`, each [N]."""

    def __init__(self, divisor: int) -> None:
        super().__init__()
        self.divisor = divisor

    def forward(self, ids_N: Tensor) -> tuple[Tensor, Tensor]:
        """Shapes [N] and [N]."""
        quotient_N = ids_N // self.divisor
        return quotient_N, ids_N - quotient_N * self.divisor


class Multiply(nn.Module):
    """[N, D] and [N, D] -> their product, element by element."""

    def forward(self, left_ND: Tensor, right_ND: Tensor) -> Tensor:
        """Shape [N, D]."""
        return left_ND * right_ND


class Add(nn.Module):
    """[N, D] and [N, D] -> their sum."""

    def forward(self, left_ND: Tensor, right_ND: Tensor) -> Tensor:
        """Shape [N, D]."""
        return left_ND + right_ND


class QuotientRemainderEmbedding(nn.Module):
    """ids [B], or the flat ids [N] of bags that begin at offsets [B], -> [B, width].

    Ids beyond the feature's are refused on the CPU: most have rows, those of other ids.
    Rows begin so that what is combined of them has the variance of a plain table's rows. Sums and concatenations are
    taken of summed bags; products of single rows, which are then summed.
    """

    def __init__(self, feature: Feature, spec: QuotientRemainderSpec) -> None:
        super().__init__()
        self.feature = feature
        self.is_product = spec.operation == "mult"
        bound = _bound(spec.operation, feature.cardinality)
        self.split = IdSplit(spec.collisions)
        self.quotient, self.remainder = (
            EmbeddingTable(Feature(name=feature.name, cardinality=rows), TableSpec(dim=spec.dim), bound=bound)
            for rows in spec.rows(feature)
        )
        combinations: dict[Combination, type[nn.Module]] = {"mult": Multiply, "add": Add, "concat": Concat}
        self.combine = combinations[spec.operation]()
        if self.is_product:
            self.pool = SumPool()

    def forward(self, ids_N: Tensor, offsets_B: Tensor | None = None) -> Tensor:
        """Shape [B, width]."""
        require_in_range(ids_N, offsets_B, self.feature)
        quotient_N, remainder_N = self.split(ids_N)
        if not self.is_product:
            joined_BD: Tensor = self.combine(
                self.quotient(quotient_N, offsets_B), self.remainder(remainder_N, offsets_B)
            )
            return joined_BD
        rows_ND: Tensor = self.combine(self.quotient(quotient_N), self.remainder(remainder_N))
        if offsets_B is None:
            return rows_ND
        pooled_BD: Tensor = self.pool(rows_ND, offsets_B)
        return pooled_BD


def build_quotient_remainder(feature: Feature, spec: QuotientRemainderSpec) -> nn.Module:
    """The module of the spec: a plain table where the feature has few ids."""
    if spec.is_plain(feature):
        return EmbeddingTable(feature, TableSpec(dim=spec.width))
    return QuotientRemainderEmbedding(feature, spec)


def _bound(operation: Combination, rows: int) -> float:
    """Half the range of the uniform distribution of each part, from that of the whole, which is 1 / sqrt(rows)."""
    bounds: dict[Combination, float] = {"mult": (3 / rows) ** 0.25, "add": (2 * rows) ** -0.5, "concat": rows**-0.5}
    return bounds[operation]
