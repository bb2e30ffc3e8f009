"""Builds the suite's components: matrix products and MLPs of any dtype, and the look-ups of `representations`.

Shape suffixes: M rows, K inner, N columns; B samples, W width.
"""

from typing import TYPE_CHECKING

from profiles.component import Component, Work
from profiles.errors import InputError
from profiles.providers.protocol import BuiltComponent
from representations.provider import RecommendationProvider

if TYPE_CHECKING:
    from torch import nn

__all__ = ["SuiteProvider"]

_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


class SuiteProvider:
    """Kinds `gemm` (`batch` rows, `inner`, `columns`) and `mlp` (`layers`, `width`), and all of recommendation."""

    def __init__(self) -> None:
        self._others = RecommendationProvider()

    def build(self, component: Component, seed: int) -> BuiltComponent:
        """Weights and inputs are standard normal over the root of the width; equal seeds give equal ones."""
        if component.kind not in ("gemm", "mlp"):
            return self._others.build(component, seed)
        self.work(component)
        import torch

        from representations.training_passes import BackwardPass, OptimizerStep

        generator = torch.Generator().manual_seed(seed)
        module, width = (_gemm if component.kind == "gemm" else _mlp)(component)
        dtype = getattr(torch, component.dtype)
        for parameter in module.parameters():
            parameter.data = (torch.randn(parameter.shape, generator=generator) / width**0.5).to(dtype)
        inputs = torch.randn((component.batch, width), generator=generator).to(dtype)
        if component.phase == "backward":
            module = BackwardPass(module, input_gradient=False)
        elif component.phase == "optimizer":
            module = OptimizerStep(module, "sgd")
        return BuiltComponent(module=module, args=(inputs,))

    def work(self, component: Component) -> Work:
        """2 FLOPs per multiply-accumulate; every factor and product once."""
        if component.kind not in ("gemm", "mlp"):
            return self._others.work(component)
        if component.dtype not in _BYTES:
            raise InputError(f"suite: dtype must be one of {', '.join(_BYTES)}, but got {component.dtype!r}")
        size = _BYTES[component.dtype]
        if component.kind == "gemm":
            inner, columns = int(component["inner"]), int(component["columns"])
            floats = component.batch * (inner + columns) + inner * columns
            flops = 2.0 * component.batch * inner * columns
            return Work(flops=flops, bytes_moved=float(floats * size), parameter_bytes=inner * columns * size)
        return _mlp_work(component, size)


def _mlp_work(component: Component, size: int) -> Work:
    """The first layer needs no gradient of its inputs."""
    layers, width = int(component["layers"]), int(component["width"])
    product, weights, activations = (
        2.0 * component.batch * width * width,
        layers * width * width,
        component.batch * width,
    )
    flops = {"forward": layers * product, "backward": (2 * layers - 1) * product, "optimizer": 0.0}
    floats = {
        "forward": weights + 2 * layers * activations,
        "backward": 2 * weights + 3 * layers * activations,
        "optimizer": 3 * weights,
    }
    if component.phase not in flops:
        raise InputError(f"suite: phase must be one of {', '.join(flops)}, but got {component.phase!r}")
    return Work(
        flops=flops[component.phase],
        bytes_moved=float(floats[component.phase] * size),
        parameter_bytes=weights * size,
    )


def _gemm(component: Component) -> tuple["nn.Module", int]:
    from torch import nn

    inner = int(component["inner"])
    return nn.Linear(inner, int(component["columns"]), bias=False), inner


def _mlp(component: Component) -> tuple["nn.Module", int]:
    from torch import nn

    width = int(component["width"])
    return nn.Sequential(*(nn.Linear(width, width, bias=False) for _ in range(int(component["layers"])))), width
