"""Inputs of a larger batch, made of those of a small one and of one twice as large.

The two tell which dimensions are of the batch, merged ones (`[B x 26]`) and longer ones (offsets, `[B + 1]`) included,
and from their contents how whole numbers are arranged. What is equal in both (weights, masks, positions) stays.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from profiles.errors import MeasurementError
from profiles.nested import attributes_of, tensors_of
from profiles.preprocessors.more_ids import more_ids
from profiles.registry import Registry

__all__ = ["Growth", "bags_among", "growers"]

# By the qualified name of a class: makes its larger value from the small one and the one twice as large (None: of what
# is known to be of the batch).
growers: Registry[Callable[["Growth", Any, Any], Any]] = Registry("grower of inputs")


@dataclass(kw_only=True, slots=True)
class Growth:
    """Makes one value of a batch `factor` times as large.

    `is_repeated` tells that the larger of the two given is the small one's batch twice, not another one. With `rng`,
    ids are not repeated but drawn anew: whole numbers that are of more than two kinds and count nothing. `id_range` is
    the least and the greatest of them (None: of each place of the batch, those seen there).
    """

    factor: int
    is_repeated: bool = True
    rng: np.random.Generator | None = None
    id_range: tuple[int, int] | None = None
    _sizes: frozenset[int] = frozenset()
    _made: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    def of(self, small: Any, double: Any) -> Any:
        """The larger value; objects that hold nothing of the batch are the small ones.

        Raises:
            MeasurementError: the two are not built alike, or grow in no way that can be carried on.
        """
        if not self._sizes:
            self._sizes = frozenset(size for tensor in tensors_of(small) for size in tensor.shape)
        if id(small) not in self._made:
            self._made[id(small)] = (small, self._grown(small, double))
        return self._made[id(small)][1]

    def more(self, ids_PN: torch.Tensor, times: int | None = None) -> torch.Tensor:
        """Whole numbers [P, N] of P places -> [P, N x times]: those given, and more of the kind of each place."""
        times = times or self.factor
        if self.rng is None or not self._are_ids(ids_PN):
            return ids_PN.repeat(1, times)
        places = ids_PN.shape[0]
        rows = [ids_PN.flatten()] if self.id_range else list(ids_PN)
        drawn = [self._drawn(row, row.numel() * (times - 1), self.rng) for row in rows]
        return torch.cat([ids_PN, torch.stack(drawn).view(places, -1)], dim=1)

    def _are_ids(self, numbers: torch.Tensor) -> bool:
        """Not flags or masks, and not the lengths that add up to the size of something."""
        return numbers.numel() > 0 and len(torch.unique(numbers)) > 2 and int(numbers.sum()) not in self._sizes

    def _drawn(self, ids_N: torch.Tensor, count: int, rng: np.random.Generator) -> torch.Tensor:
        low, high = self.id_range or (int(ids_N.min()), int(ids_N.max()))
        drawn = more_ids(ids_N.cpu().numpy().astype(np.int64), count, low, high, rng)
        return torch.from_numpy(drawn).to(ids_N)

    def _grown(self, small: Any, double: Any) -> Any:
        if type(small) is not type(double):
            raise MeasurementError(f"batch: an input is a {type(small).__name__} or a {type(double).__name__}")
        name = f"{type(small).__module__}.{type(small).__qualname__}"
        if name in growers:
            return self._registered(name, small, double)
        if isinstance(small, torch.Tensor):
            return self._tensor(small, double)
        if small is None or isinstance(small, nn.Module | type | str | bytes | bool | float | complex):
            return small
        if isinstance(small, int):
            return small if small == double else small + (double - small) * (self.factor - 1)
        return self._container(small, double)

    def _container(self, small: Any, double: Any) -> Any:
        if isinstance(small, tuple | list):
            if len(small) != len(double):
                raise MeasurementError(f"batch: {len(small)} inputs at one batch size, {len(double)} at another")
            bags = self._larger_sequence_parts(small, double)
            parts = [
                bags[place] if place in bags else self.of(*pair) for place, pair in enumerate(_pairs(small, double))
            ]
            return type(small)(*parts) if hasattr(small, "_fields") else type(small)(parts)
        if isinstance(small, dict):
            if list(small) != list(double):
                raise MeasurementError(f"batch: keys differ between batch sizes: {list(small)} and {list(double)}")
            made = copy.copy(small)
            made |= {key: self.of(part, double[key]) for key, part in small.items()}
            return made
        return self._object(small, double)

    def _larger_sequence_parts(self, small: Any, double: Any) -> dict[int, torch.Tensor]:
        """By place, those parts that only together tell how they grow."""
        return {} if self.is_repeated else bags_among(small, double, self.factor)

    def _registered(self, name: str, small: Any, double: Any) -> Any:
        return growers.get(name)(self, small, double)

    def _object(self, small: Any, double: Any) -> Any:
        ours, theirs = attributes_of(small), attributes_of(double)
        grown = {name: self.of(part, theirs[name]) for name, part in ours.items() if name in theirs}
        if all(grown[name] is ours[name] for name in grown):
            return small
        made = copy.copy(small)
        for name, part in grown.items():
            object.__setattr__(made, name, part)
        return made

    def _tensor(self, small: torch.Tensor, double: torch.Tensor) -> torch.Tensor:
        if small.ndim != double.ndim:
            raise MeasurementError(f"batch: an input has shape {list(small.shape)} or {list(double.shape)}")
        dims = [dim for dim in range(small.ndim) if small.shape[dim] != double.shape[dim]]
        if not dims:
            return small
        if len(dims) == 1 and not (small.is_floating_point() or small.is_complex() or small.dtype is torch.bool):
            return self._whole_numbers(small, double, dims[0])
        grown = small.detach()
        for dim in dims:
            grown = _longer(grown, dim, double.shape[dim], self.factor)
        return grown.requires_grad_() if small.requires_grad else grown

    def _whole_numbers(self, small: torch.Tensor, double: torch.Tensor, dim: int) -> torch.Tensor:
        if small.ndim == 1 and (offsets := self._offsets(small, double)) is not None:
            return offsets
        size = small.shape[dim]
        block = _block(small, double, dim) if self.is_repeated else size
        if block is None or double.shape[dim] != 2 * size:
            return _longer(small, dim, double.shape[dim], self.factor)
        # A row per place of the batch, such as one feature: the other dimensions, and of this one the blocks.
        others = small.movedim(dim, -1)
        grown = self.more(others.reshape(-1, block)).reshape(*others.shape[:-1], size * self.factor)
        return grown.movedim(-1, dim).contiguous()

    def _offsets(self, small: torch.Tensor, double: torch.Tensor) -> torch.Tensor | None:
        """Where bags begin, with or without the end of the last; None where they are something else."""
        size, steps = len(small), small.diff()
        if bool((steps < 0).any()):
            return None
        if len(double) == 2 * size - 1:
            block = _block(steps, double.diff(), 0) or size - 1
            longer = steps.view(-1, block).repeat(1, self.factor).flatten()
            return torch.cat([small[:1], small[0] + longer.cumsum(0).to(small.dtype)])
        if len(double) != 2 * size or not torch.equal(double[:size], small):
            return None
        shift = int(double[size] - small[0])
        if shift <= int(small[-1] - small[0]) or not torch.equal(double[size:], small + shift):
            return None
        return torch.cat([small + place * shift for place in range(self.factor)])


def _pairs(small: Sequence[Any], double: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    return zip(small, double, strict=True)


def bags_among(small: Sequence[Any], double: Sequence[Any], factor: int) -> dict[int, torch.Tensor]:
    """Flat ids and the offsets of their bags, by place, where they stand together; of `double` only the sizes matter.

    Flat ids are as many as it happens, so that twice the batch has not twice as many.
    """
    flat = [place for place, pair in enumerate(_pairs(small, double)) if _is_flat(*pair)]
    grown: dict[int, torch.Tensor] = {}
    for place, (few, many) in enumerate(_pairs(small, double)):
        if place in flat or not isinstance(few, torch.Tensor) or few.ndim != 1 or few.is_floating_point():
            continue
        begins_B = few if len(many) == 2 * len(few) else few[:-1] if len(many) == 2 * len(few) - 1 else few[:0]
        if len(begins_B) == 0 or begins_B[0] != 0 or bool((few.diff() < 0).any()):
            continue
        for other in flat:
            total = len(small[other])
            if begins_B[-1] <= total:
                grown[other] = small[other].repeat(factor, *[1] * (small[other].ndim - 1))
                shifted = [begins_B + time * total for time in range(factor)]
                grown[place] = torch.cat([*shifted, few[len(begins_B) :] + (factor - 1) * total])
    return grown


def _is_flat(few: Any, many: Any) -> bool:
    if not (isinstance(few, torch.Tensor) and isinstance(many, torch.Tensor) and few.ndim):
        return False
    return len(few) != len(many) and len(many) not in (2 * len(few), 2 * len(few) - 1)


def _longer(tensor: torch.Tensor, dim: int, double: int, factor: int) -> torch.Tensor:
    """Repeated along the dimension, whose size is B x a + c (its first c are not of the batch) or B x B x a."""
    size, own = tensor.shape[dim], max(2 * tensor.shape[dim] - double, 0)
    if double == 4 * size:
        larger = size * factor * factor
    elif own < size < double <= 2 * size:
        larger = size + (double - size) * (factor - 1)
    else:
        raise MeasurementError(f"batch: a dimension of {size} becomes {double} in twice the batch, which tells no rule")
    if tensor.stride(dim) == 0:
        return tensor.narrow(dim, 0, 1).expand(*tensor.shape[:dim], larger, *tensor.shape[dim + 1 :])
    places = own + torch.arange(larger - own, device=tensor.device) % (size - own)
    places = torch.cat([torch.arange(own, device=tensor.device), places])
    expanded = [other for other in range(tensor.ndim) if other != dim and tensor.stride(other) == 0]
    narrow = tensor[tuple(slice(0, 1) if other in expanded else slice(None) for other in range(tensor.ndim))]
    shape = [larger if other == dim else tensor.shape[other] for other in range(tensor.ndim)]
    return narrow.index_select(dim, places).expand(shape)


def _block(small: torch.Tensor, double: torch.Tensor, dim: int) -> int | None:
    """The longest run of elements of which twice the batch has every one twice, one after the other; None if none."""
    size = small.shape[dim]
    if double.shape[dim] != 2 * size:
        return None
    for block in (size // parts for parts in range(1, size + 1) if size % parts == 0):
        places = torch.arange(size, device=small.device).view(-1, block).repeat(1, 2).flatten()
        if torch.equal(small.index_select(dim, places), double):
            return block
    return None
