"""A PyTorch target: a model with the batches it is profiled on, e.g. from `package.module:function`."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiles.errors import InputError

if TYPE_CHECKING:
    from torch import nn

__all__ = ["InputBatch", "Target", "load_target"]


@dataclass(frozen=True, kw_only=True, slots=True)
class InputBatch:
    """Arguments of one forward pass; figures over several batches are means weighted by `weight`."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    weight: float = 1.0
    label: str = ""

    def __post_init__(self) -> None:
        where = f"batch {self.label!r}" if self.label else "batch"
        if not self.weight > 0:
            raise InputError(f"{where}: weight must be > 0, but got {self.weight}")
        # A tensor would be taken apart into its rows.
        if not isinstance(self.args, tuple | list):
            raise InputError(f"{where}: args must be a tuple, but got a {type(self.args).__name__}")
        if not isinstance(self.kwargs, Mapping):
            raise InputError(f"{where}: kwargs must be a dict, but got a {type(self.kwargs).__name__}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """A model and the batches it is profiled on.

    Of a model that was scaled down to fit the device, `true_parameter_bytes` holds by module path the bytes that the
    modules were asked for with, of every module whose bytes differ: the scaled ones and all that contain them.
    `resized` gives the first batch with another number of samples. `is_sample` tells that modules run alone on larger
    calls than the model makes, so that FLOPs and bytes that are seen in the model are not theirs. `compute_dtypes` are
    the types in which products run, by those of the parameters, where they differ (autocast, `tf32`): MFU is by theirs.
    """

    name: str
    model: "nn.Module"
    batches: tuple[InputBatch, ...] = (InputBatch(),)
    true_parameter_bytes: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    resized: Callable[[int], InputBatch] | None = None
    is_sample: bool = False
    compute_dtypes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        from torch import nn

        if not isinstance(self.model, nn.Module):
            raise InputError(
                f"target {self.name!r}: the model must be a torch.nn.Module, but is a {type(self.model).__name__}"
            )
        if not self.batches:
            raise InputError(f"target {self.name!r}: must have at least one batch, but has none")

    @property
    def args(self) -> tuple[Any, ...]:
        """Positional arguments of the first batch."""
        return self.batches[0].args

    @property
    def kwargs(self) -> Mapping[str, Any]:
        """Keyword arguments of the first batch."""
        return self.batches[0].kwargs


def load_target(name: str) -> Target:
    """Call the function that `name` points to, with the working directory importable.

    It returns a `Target`, or a pair of a model and its inputs: a tuple of positional arguments, a dict of keyword
    arguments, or a pair (tuple, dict) of both; or a list of such inputs or of `InputBatch`es, each one batch.

    Raises:
        InputError: the module or function is not there, it raises, or it returns something else; names the target.
    """
    module_name, separator, function_name = name.partition(":")
    if not (separator and module_name and function_name):
        raise InputError(f"target {name!r}: must look like package.module:function")
    function = _find(name, module_name, function_name)
    try:
        result = function()
    except Exception as error:
        raise InputError(f"target {name!r}: the function raised {type(error).__name__}: {error}") from error
    return result if isinstance(result, Target) else _checked(name, result)


def _find(name: str, module_name: str, function_name: str) -> Any:
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        module = import_module(module_name)
    except Exception as error:
        raise InputError(f"target {name!r}: cannot import {module_name!r}: {type(error).__name__}: {error}") from error
    function = getattr(module, function_name, None)
    if function is None:
        raise InputError(f"target {name!r}: module {module_name!r} has no {function_name!r}")
    if not callable(function):
        raise InputError(f"target {name!r}: must be a function, but is a {type(function).__name__}")
    return function


def _checked(name: str, result: Any) -> Target:
    if not isinstance(result, tuple) or len(result) != 2:
        raise InputError(
            f"target {name!r}: must return (model, inputs) or a Target, but returned a {type(result).__name__}"
        )
    model, inputs = result
    if isinstance(inputs, list):
        batches = tuple(_batch(f"target {name!r}: batch {i}", one) for i, one in enumerate(inputs))
    else:
        batches = (_batch(f"target {name!r}: inputs", inputs),)
    return Target(name=name, model=model, batches=batches)


def _batch(where: str, inputs: Any) -> InputBatch:
    if isinstance(inputs, InputBatch):
        return inputs
    if isinstance(inputs, Mapping):
        return InputBatch(kwargs=dict(inputs))
    if not isinstance(inputs, tuple):
        raise InputError(
            f"{where} must be a tuple, a dict, a (tuple, dict), or a list of these, but got a {type(inputs).__name__}"
        )
    if len(inputs) == 2 and isinstance(inputs[0], tuple) and isinstance(inputs[1], Mapping):
        return InputBatch(args=inputs[0], kwargs=dict(inputs[1]))
    return InputBatch(args=inputs)
