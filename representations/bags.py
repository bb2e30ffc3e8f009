"""Ids at a model's door, in whatever form they come, as one bag list per feature.

Shape suffixes: B samples, S categorical features, T tables, N flat ids of bags.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, Union

import torch
from torch import Tensor

from profiles.errors import InputError

if TYPE_CHECKING:
    from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

__all__ = ["Bag", "Ids", "bags_of", "jagged_of", "table_batched"]

# Ids [B], or the flat ids [N] of bags that begin at offsets [B].
Bag: TypeAlias = tuple[Tensor] | tuple[Tensor, Tensor]
# One id per sample and feature [B, S]; or per feature ids [B] or (flat ids [N], offsets [B]); or torchrec's own.
Ids: TypeAlias = Union[Tensor, Sequence[Tensor | tuple[Tensor, Tensor]], "KeyedJaggedTensor"]


def bags_of(ids: Ids, names: Sequence[str]) -> list[Bag]:
    """The bag of each feature; a `KeyedJaggedTensor` is read by name, so that its order does not matter.

    Ids are not looked at here: `check_ids` and `check_bags` do, where data enters.

    Raises:
        InputError: another number of features, a feature that a `KeyedJaggedTensor` lacks, or one that has weights.
    """
    if isinstance(ids, Tensor):
        columns: Sequence[Tensor | tuple[Tensor, Tensor]] = ids.t().contiguous().unbind()
    else:
        columns = ids if isinstance(ids, Sequence) else _columns_of_jagged(ids, names)
    if len(columns) != len(names):
        raise InputError(f"ids: must hold {len(names)} features, but hold {len(columns)}")
    return [column if isinstance(column, tuple) else (column,) for column in columns]


def jagged_of(bags: Sequence[Bag], names: Sequence[str]) -> "KeyedJaggedTensor":
    """The bags as torchrec has them."""
    from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

    ids_N, offsets_T = table_batched(bags)
    return KeyedJaggedTensor(keys=list(names), values=ids_N, offsets=offsets_T)


def table_batched(bags: Sequence[Bag]) -> tuple[Tensor, Tensor]:
    """Flat ids [N] of all tables, one table after another, and where bags begin and the last ends [T x B + 1]."""
    first = bags[0]
    samples = len(first[-1])
    ids_N = torch.cat([bag[0] for bag in bags])
    if all(len(bag) == 1 for bag in bags):
        return ids_N, torch.arange(len(ids_N) + 1, device=ids_N.device)
    begins, start = [], 0
    for bag in bags:
        own_B = bag[1] if len(bag) == 2 else torch.arange(samples, device=ids_N.device)
        begins.append(own_B + start)
        start += len(bag[0])
    return ids_N, torch.cat([*begins, torch.tensor([start], device=ids_N.device)])


def _columns_of_jagged(jagged: "KeyedJaggedTensor", names: Sequence[str]) -> list[tuple[Tensor, Tensor]]:
    lacking = [name for name in names if name not in jagged.keys()]  # noqa: SIM118 (a list, not a dict)
    if lacking:
        raise InputError(f"ids: the jagged tensor lacks the features {lacking}, has {jagged.keys()}")
    if jagged.weights_or_none() is not None:
        raise InputError("ids: the jagged tensor has weights, but rows of a bag are summed unweighted")
    columns = jagged.to_dict()
    return [(columns[name].values(), columns[name].offsets()[:-1] - columns[name].offsets()[0]) for name in names]
