"""A small provider that the tests measure."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch import nn

from profiles.component import Component, Work, make_component
from profiles.errors import InputError
from profiles.providers import BuiltComponent
from profiles.sweep import SweepOptions

QUICK = SweepOptions(seconds_per_visit=0.001, min_samples=2, max_samples=4, least_gap_s=0.0, group_size=4)


def linear(width: int, batch: int = 2) -> Component:
    return make_component("linear", batch, {"in_features": width, "out_features": width})


def broken(width: int) -> Component:
    return make_component("broken", 1, {"width": width})


class Raising(nn.Module):
    def forward(self, x_BF: torch.Tensor) -> NoReturn:
        raise RuntimeError(f"no kernel for {tuple(x_BF.shape)}")


class Dying(nn.Module):
    def forward(self, _x_BF: torch.Tensor) -> NoReturn:
        os._exit(7)


class DyingOnce(nn.Module):
    def __init__(self, mark: Path) -> None:
        super().__init__()
        self.mark = mark

    def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
        if not self.mark.exists():
            self.mark.touch()
            os._exit(7)
        return x_BF


class Slow(nn.Module):
    def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
        time.sleep(0.003)
        return x_BF


@dataclass(frozen=True)
class LinearProvider:
    """`linear` of any width; `broken` raises, `slow` sleeps, `dying` ends the process, `dying_once` the first time."""

    folder: Path = Path("/nonexistent")

    def build(self, component: Component, seed: int) -> BuiltComponent:
        width = int(dict(component.shape).get("in_features", 3))
        args: tuple[Any, ...] = (torch.ones(component.batch, width),)
        return BuiltComponent(module=self._module(component.kind, width, seed), args=args)

    def _module(self, kind: str, width: int, seed: int) -> nn.Module:
        if kind == "linear":
            module = nn.Linear(width, width)
            generator = torch.Generator().manual_seed(seed)
            for parameter in module.parameters():
                nn.init.normal_(parameter, generator=generator)
            return module
        if kind == "dying_once":
            return DyingOnce(self.folder / "died")
        others = {"broken": Raising, "dying": Dying, "slow": Slow}
        if kind not in others:
            raise InputError(f"component kind: unknown {kind!r}")
        return others[kind]()

    def work(self, component: Component) -> Work:
        if component.kind == "no-such-kind":
            raise InputError("component kind: unknown 'no-such-kind'")
        width = int(dict(component.shape).get("in_features", 3))
        flops = 2 * component.batch * width * width
        parameter_bytes = 4 * width * (width + 1) if component.kind == "linear" else 0
        moved = parameter_bytes + 8 * component.batch * width
        return Work(flops=flops, bytes_moved=moved, parameter_bytes=parameter_bytes)
