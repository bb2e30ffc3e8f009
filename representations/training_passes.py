"""Modules whose call is a backward pass or an optimizer's step alone: what comes before is done outside the clock.

The first call, which warms up, also makes the graph or the gradients; so modules may be moved before it.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from representations.optimizer import RowWiseAdagrad
from representations.phases import ROW_WISE_ADAGRAD
from representations.tables.fbgemm import fuse_optimizers

__all__ = ["BackwardPass", "OptimizerStep"]

# A step must neither stand still nor carry weights off, however often it is made.
_LEARNING_RATE = 1e-4


class BackwardPass(nn.Module):
    """Gradients of a module's parameters, and of its floating-point inputs where `input_gradient`.

    They are given ones for its outputs, and are not accumulated. The forward pass runs once, in training mode. Of
    fbgemm's tables the fused pass is run, which updates their rows as well.
    """

    def __init__(self, module: nn.Module, *, input_gradient: bool) -> None:
        super().__init__()
        self.module = module
        self._input_gradient = input_gradient
        self._graph: tuple[list[Tensor], list[Tensor], list[Tensor]] | None = None

    def forward(self, *args: Any) -> tuple[Tensor | None, ...]:
        """The gradients: of the inputs, then of the parameters; of a fused pass those that it was given."""
        if self._graph is None:
            self._graph = self._run(args)
        outputs, wanted, ones = self._graph
        if not wanted:
            torch.autograd.backward(outputs, ones, retain_graph=True)
            return tuple(ones)
        return torch.autograd.grad(outputs, wanted, ones, retain_graph=True, allow_unused=True)

    def _run(self, args: tuple[Any, ...]) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
        self.module.train()
        _make_sparse(self.module)
        is_fused = bool(fuse_optimizers(self.module, learning_rate=_LEARNING_RATE))
        with torch.inference_mode(mode=False), torch.enable_grad():
            if self._input_gradient:
                args = tuple(_leaf(value) for value in args)
            inputs = [value for value in args if isinstance(value, Tensor) and value.requires_grad]
            output: Tensor = self.module(*args)
        wanted = [] if is_fused else [*inputs, *self.module.parameters()]
        return [output], wanted, [torch.ones_like(output)]


class OptimizerStep(nn.Module):
    """One step of an optimizer by name; gradients are made by the first call and used by all."""

    def __init__(self, module: nn.Module, optimizer: str) -> None:
        super().__init__()
        self.module = module
        self._name = optimizer
        self._optimizer: torch.optim.Optimizer | None = None

    def forward(self, *args: Any) -> Tensor:
        """The first parameter after the step."""
        if self._optimizer is None:
            self._optimizer = self._prepared(args)
        self._optimizer.step()
        return next(self.module.parameters())

    def _prepared(self, args: tuple[Any, ...]) -> torch.optim.Optimizer:
        _make_sparse(self.module)
        with torch.inference_mode(mode=False), torch.enable_grad():
            output: Tensor = self.module(*args)
            output.sum().backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        return _OPTIMIZERS[self._name](list(self.module.parameters()))


def _make_sparse(module: nn.Module) -> None:
    for part in module.modules():
        if isinstance(getattr(part, "sparse", None), bool):
            part.sparse = True  # type: ignore[assignment]  # a plain attribute of all modules that look rows up


def _leaf(value: Any) -> Any:
    is_activation = isinstance(value, Tensor) and value.is_floating_point()
    return value.detach().clone().requires_grad_() if is_activation else value


_OPTIMIZERS: Mapping[str, Callable[[list[nn.Parameter]], torch.optim.Optimizer]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=_LEARNING_RATE),
    "adagrad": lambda parameters: torch.optim.Adagrad(parameters, lr=_LEARNING_RATE),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=_LEARNING_RATE),
    ROW_WISE_ADAGRAD: lambda parameters: RowWiseAdagrad(parameters, learning_rate=_LEARNING_RATE),
}
