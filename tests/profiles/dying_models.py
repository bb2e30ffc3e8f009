"""Models at which the process that measures them dies."""

import os
import signal
from pathlib import Path

import torch
from torch import nn

from profiles.errors import InputError
from profiles.providers import InputBatch, Target


class DyingOnce(nn.Module):
    """Kills its process at the 21st call, unless the marker tells that it has done so before."""

    def __init__(self, marker: Path) -> None:
        super().__init__()
        self.marker, self.calls = marker, 0

    def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        if self.calls > 20 and not self.marker.exists():
            self.marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return x_BF


class DyingAlone(nn.Module):
    """Works when it is allowed to, and kills its process otherwise."""

    def __init__(self) -> None:
        super().__init__()
        self.is_allowed = False

    def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
        if not self.is_allowed:
            os.kill(os.getpid(), signal.SIGKILL)
        self.is_allowed = False
        return x_BF


class Guard(nn.Module):
    """Allows its child for one call."""

    def __init__(self) -> None:
        super().__init__()
        self.child = DyingAlone()

    def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
        self.child.is_allowed = True
        output_BF: torch.Tensor = self.child(x_BF)
        return output_BF


def plain(processes: Path | None = None, width: int = 8) -> Target:
    """Leaves its process's id in the folder."""
    if processes:
        processes.mkdir(exist_ok=True)
        (processes / str(os.getpid())).touch()
    linears = [nn.Linear(width, width) for _ in range(3)]
    model = nn.Sequential(linears[0], nn.ReLU(), linears[1], nn.ReLU(), linears[2])
    return Target(name="plain", model=model, batches=(InputBatch(args=(torch.ones(2, width),)),))


def growing(processes: Path) -> Target:
    """Wider by one in each process that loads it."""
    plain(processes)
    order = sorted(int(file.name) for file in processes.iterdir()).index(os.getpid())
    return plain(width=8 + order + len(list(processes.iterdir())))


def dying_once(marker: Path) -> Target:
    model = nn.Sequential(nn.Linear(8, 8), DyingOnce(marker), nn.Linear(8, 8))
    return Target(name="dying", model=model, batches=(InputBatch(args=(torch.ones(2, 8),)),))


def dying_alone() -> Target:
    model = nn.Sequential(nn.Linear(8, 8), Guard())
    return Target(name="dying", model=model, batches=(InputBatch(args=(torch.ones(2, 8),)),))


def unloadable() -> Target:
    raise InputError("no such weights")
