"""Row-wise Adagrad: one accumulated square per embedding row, updated only for the rows of a batch.

The optimizer of Neo (Mudigere et al., arXiv 2104.05158) for embedding tables: state of one float per row, and a step
whose cost follows the batch, not the table.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim.optimizer import Optimizer

__all__ = ["RowWiseAdagrad"]


class RowWiseAdagrad(Optimizer):
    """For 2-D parameters with sparse gradients: row -= rate * gradient / sqrt(accumulated mean square + epsilon)."""

    def __init__(self, tables: Iterable[Tensor], *, learning_rate: float, epsilon: float = 1e-10) -> None:
        super().__init__(list(tables), {"learning_rate": learning_rate, "epsilon": epsilon})

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the state of another run; squares stay float32, where torch would give them the rows' dtype."""
        super().load_state_dict(state_dict)
        tables = [table for group in self.param_groups for table in group["params"]]
        for place, state in state_dict["state"].items():
            table = tables[place]
            self.state[table] = {name: value.to(table.device) for name, value in state.items()}

    @torch.no_grad()
    def step(  # type: ignore[override]  # no closure: nothing here re-evaluates a model
        self, closure: Callable[[], float] | None = None
    ) -> None:
        """Apply the gradients of one batch."""
        del closure
        for group in self.param_groups:
            for table in group["params"]:
                if table.grad is not None:
                    self._update(table, table.grad.coalesce(), group["learning_rate"], group["epsilon"])

    def _update(self, table: Tensor, gradient: Tensor, learning_rate: float, epsilon: float) -> None:
        rows, values = gradient.indices()[0], gradient.values().float()
        state = self.state[table]
        if not state:
            state["square"] = torch.zeros(len(table), device=table.device)
        square = state["square"].index_add_(0, rows, values.square().mean(dim=1))
        scale = (square[rows] + epsilon).rsqrt_().mul_(-learning_rate)
        table.index_add_(0, rows, (values * scale[:, None]).to(table.dtype))
