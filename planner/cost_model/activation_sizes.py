"""Bytes of the arrays that a pass makes, by what they hold."""

from representations.specs import BYTES_PER_FLOAT, Feature, ModelSpec
from representations.work import BYTES_PER_ID

__all__ = ["float_bytes", "id_bytes", "ids_of", "layer_bytes", "lookup_bytes", "pool_bytes"]


def ids_of(feature: Feature, batch: int) -> int:
    """Ids of one pass."""
    return max(1, round(batch * feature.pooling))


def id_bytes(count: int) -> int:
    """So many ids, or places of ids."""
    return count * BYTES_PER_ID


def float_bytes(rows: int, width: int) -> int:
    """[rows, width] of float32."""
    return rows * width * BYTES_PER_FLOAT


def layer_bytes(spec: ModelSpec, stem: str, batch: int) -> list[int]:
    """What each linear layer of an MLP gives."""
    return [float_bytes(batch, outputs) for path, _, outputs in spec.mlp_layers if path.startswith(f"{stem}.")]


def lookup_bytes(bags: int, *, is_single: bool) -> int:
    """What a look-up keeps of its bags: how many ids they have and a place that sums do not use; of single ids also
    where each begins.
    """
    return id_bytes((3 if is_single else 2) * bags)


def pool_bytes(feature: Feature, batch: int) -> int:
    """What summing the rows of bags makes beside the sums: the order of the rows, and what a look-up keeps of bags."""
    return 0 if feature.pooling == 1 else id_bytes(ids_of(feature, batch)) + lookup_bytes(batch, is_single=False)
