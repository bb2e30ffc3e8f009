"""The check of ids in modules that would read another id's row for one beyond the table."""

import torch
from torch import Tensor

from profiles.errors import InputError
from representations.specs import Feature

__all__ = ["require_in_range"]


def require_in_range(ids_N: Tensor, offsets_B: Tensor | None, feature: Feature) -> None:
    """Raise an `InputError` naming feature, row and value unless every id lies in [0, cardinality).

    Only plain tensors on the CPU are looked at: a GPU would have to be waited for, and a traced model has no values.
    """
    if type(ids_N) is not Tensor or ids_N.device.type != "cpu" or torch.compiler.is_compiling():
        return
    from representations.dhe.kernels import first_outside

    outside = first_outside(ids_N.to(torch.int64).contiguous().numpy(), feature.cardinality)
    if outside >= 0:
        row = outside if offsets_B is None else int((offsets_B <= outside).sum()) - 1
        raise InputError(
            f"feature {feature.name!r}, row {row}: id must be in [0, {feature.cardinality}), "
            f"but got {int(ids_N[outside])}"
        )
