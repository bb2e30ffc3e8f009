"""Copies of models and inputs in which chosen tensors are others, and all else is as it was."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import torch
from torch import nn

from profiles.errors import InputError
from profiles.nested import tensors_of
from profiles.providers.target import InputBatch, Target

__all__ = ["model_tensors", "model_with", "target_with_inputs", "with_tensors"]

T = TypeVar("T")


def model_tensors(model: nn.Module) -> list[torch.Tensor]:
    """Parameters, buffers and tensors in the attributes of modules, tied ones once."""
    attributes = [value for module in model.modules() for value in vars(module).values()]
    found = [*model.parameters(), *model.buffers(), *(value for value in attributes if isinstance(value, torch.Tensor))]
    return list({id(tensor): tensor for tensor in found}.values())


def model_with(model: nn.Module, replaced: Mapping[int, torch.Tensor], what: str) -> nn.Module:
    """A copy of the module tree that holds, by `id` of the original, other tensors; what is tied stays tied.

    Parameters that are not replaced are shared with the model, buffers are copied. Hooks and other attributes are there
    too.

    Raises:
        InputError: a module cannot be copied; names the preprocessor, `what`.
    """
    # What an operation made cannot be copied by torch.
    kept = (one for one in model_tensors(model) if isinstance(one, nn.Parameter) or not one.is_leaf)
    return _copied(model, {**{id(one): one for one in kept}, **replaced}, f"{what}: the model")


def with_tensors(value: T, replaced: Callable[[torch.Tensor], torch.Tensor], what: str) -> T:
    """A copy of containers and objects around other tensors."""
    return _copied(value, {id(tensor): replaced(tensor) for tensor in tensors_of(value)}, f"{what}: an input")


def target_with_inputs(target: Target, changed: Callable[[InputBatch], InputBatch]) -> Target:
    """The target with every batch changed, those of `resized` too."""
    resized = target.resized
    return replace(
        target,
        batches=tuple(changed(batch) for batch in target.batches),
        resized=None if resized is None else lambda samples: changed(resized(samples)),
    )


def _copied(value: T, memo: dict[int, Any], what: str) -> T:
    try:
        return copy.deepcopy(value, memo)
    except Exception as error:
        raise InputError(f"preprocessor {what} cannot be copied: {type(error).__name__}: {error}") from error
