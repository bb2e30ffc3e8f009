"""Small models that the profiler is tried on."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.activation = nn.ReLU()

    def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
        hidden_BF: torch.Tensor = self.activation(self.linear(x_BF))
        return x_BF + hidden_BF @ torch.ones(x_BF.shape[1], x_BF.shape[1])


class Net(nn.Module):
    """A layer called twice, blocks in a list, one module that is never called, keyword inputs, dropout, BatchNorm."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.shared = nn.Linear(width, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(2)])
        self.norm = nn.BatchNorm1d(width)
        self.drop = nn.Dropout()
        self.table = nn.EmbeddingBag(100, width, mode="sum")
        self.unused = nn.Linear(2, 2)

    def forward(self, x_BF: torch.Tensor, *, ids_BP: torch.Tensor) -> torch.Tensor:
        x_BF = self.shared(self.shared(x_BF))
        for block in self.blocks:
            x_BF = block(x_BF)
        output_BF: torch.Tensor = self.drop(self.norm(x_BF)) + self.table(ids_BP)
        return output_BF


class Raising(nn.Module):
    """Its child works, then it raises."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.good = nn.Linear(width, width)
        self.never = nn.Linear(width, width)

    def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
        self.never(self.good(x_BF)[:, :0])
        return x_BF


class Recursive(nn.Module):
    """Calls itself `depth` times."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x_BF: torch.Tensor, depth: int = 2) -> torch.Tensor:
        output_BF: torch.Tensor = self.linear(x_BF)
        if depth:
            output_BF = self(output_BF, depth - 1)
        return output_BF


class RaisingAlone(nn.Module):
    """Works in the model once per `allow()`, and raises when it is run again."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.is_allowed = False

    def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
        if not self.is_allowed:
            raise RuntimeError("not now")
        self.is_allowed = False
        inner_BF: torch.Tensor = self.inner(x_BF)
        return inner_BF


class Gate(nn.Module):
    """Allows its child for one call, so that only the child alone raises."""

    def __init__(self) -> None:
        super().__init__()
        self.child = RaisingAlone()

    def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
        self.child.is_allowed = True
        output_BF: torch.Tensor = self.child(x_BF)
        return output_BF


def net_inputs(batch: int = 4, width: int = 8) -> tuple[tuple[torch.Tensor, ...], dict[str, torch.Tensor]]:
    return (torch.ones(batch, width),), {"ids_BP": torch.arange(batch * 3).reshape(batch, 3)}
