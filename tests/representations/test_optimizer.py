import numpy as np
import pytest
import torch
from torch import nn

from representations.optimizer import RowWiseAdagrad


def table_with_gradient(sparse_rows: list[int]) -> nn.EmbeddingBag:
    table = nn.EmbeddingBag(5, 2, mode="sum", sparse=True)
    nn.init.ones_(table.weight)
    loss = (table(torch.tensor(sparse_rows)[:, None]) * torch.tensor([1.0, 3.0])).sum()
    torch.autograd.backward(loss)
    return table


def test_a_step_follows_the_formula_for_touched_rows_only() -> None:
    table = table_with_gradient([1, 4, 4])
    RowWiseAdagrad([table.weight], learning_rate=0.1).step()
    rate = 0.1 / np.sqrt(5.0)
    assert table.weight[1].tolist() == pytest.approx([1 - rate, 1 - 3 * rate])
    assert table.weight[4].tolist() == pytest.approx([1 - rate, 1 - 3 * rate])
    assert (table.weight[[0, 2, 3]] == 1).all()


def test_squares_accumulate_per_row() -> None:
    table = table_with_gradient([1])
    optimizer = RowWiseAdagrad([table.weight], learning_rate=0.1)
    optimizer.step()
    optimizer.step()
    assert table.weight[1, 0].item() == pytest.approx(1 - 0.1 / np.sqrt(5) - 0.1 / np.sqrt(10))


def test_tables_without_gradient_are_left_alone() -> None:
    table = nn.EmbeddingBag(3, 2)
    before = table.weight.clone()
    RowWiseAdagrad([table.weight], learning_rate=1.0).step()
    assert torch.equal(table.weight, before)
