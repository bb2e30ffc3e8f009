import copy
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from profiles.errors import InputError
from representations.bags import Bag
from representations.specs import Feature, TableSpec
from representations.tables.fbgemm import FbgemmTables, fuse_optimizers

FEATURES = (Feature(name="a", cardinality=40), Feature(name="b", cardinality=7))
BAGS: Sequence[Bag] = (
    (torch.tensor([3, 3, 39, 0]), torch.tensor([0, 2, 2])),
    (torch.tensor([6, 6, 1]),),
)


def tables(seed: int = 0) -> FbgemmTables:
    torch.manual_seed(seed)
    return FbgemmTables(FEATURES, (TableSpec(dim=8, backend="fbgemm"),) * 2)


def reference(group: FbgemmTables) -> Tensor:
    a, b = group.read_rows(0), group.read_rows(1)
    first = torch.stack([a[3] + a[3], torch.zeros(8), a[39] + a[0]])
    return torch.cat((first, b[torch.tensor([6, 6, 1])]), dim=1)


def test_both_kernels_sum_the_rows_of_each_bag() -> None:
    group = tables()
    assert torch.allclose(group(BAGS), reference(group))
    with torch.no_grad():
        assert torch.allclose(group(BAGS), reference(group))


def test_the_fused_backward_is_row_wise_adagrad_on_summed_gradients() -> None:
    group, wanted = tables(), tables()
    group.fuse_optimizer(learning_rate=0.1)
    weights = torch.randn(3, 16)
    squares = torch.zeros(47)
    for _ in range(3):
        torch.autograd.backward((group(BAGS) * weights).sum())
        torch.autograd.backward((wanted(BAGS) * weights).sum())
        assert wanted.weight.grad is not None
        squares += wanted.weight.grad.square().mean(1)
        with torch.no_grad():
            wanted.weight.sub_(0.1 * wanted.weight.grad / (squares.sqrt() + 1e-10)[:, None])
        wanted.weight.grad = None
    assert group.weight.grad is None
    assert torch.allclose(group.weight, wanted.weight, atol=1e-6)
    assert group.squares is not None
    assert torch.allclose(group.squares, squares)


def test_updates_repeat_bit_for_bit() -> None:
    ids = torch.randint(0, 7, (4096,))
    results = []
    for _ in range(2):
        group = tables()
        group.fuse_optimizer(learning_rate=0.1)
        for _ in range(3):
            torch.autograd.backward(group([(ids,), (ids,)]).square().sum())
        results.append(group.weight.detach().clone())
    assert torch.equal(*results)


def test_a_copy_goes_its_own_way() -> None:
    group = tables()
    fuse_optimizers(group, learning_rate=0.1)
    group(BAGS)
    twin = copy.deepcopy(group)
    torch.autograd.backward(twin(BAGS).sum())
    assert not torch.equal(twin.weight, group.weight)


def test_state_resumes() -> None:
    first, second = tables(), tables(seed=1)
    for group in (first, second):
        group.fuse_optimizer(learning_rate=0.1)
    torch.autograd.backward(first(BAGS).sum())
    second.load_state_dict(first.state_dict())
    for group in (first, second):
        torch.autograd.backward(group(BAGS).square().sum())
    assert torch.equal(first.weight, second.weight)
    second.unfuse_optimizer()
    assert list(second.state_dict()) == ["weight"]


@pytest.mark.parametrize("value", [-1, 7])
def test_an_id_beyond_its_table_never_reads_another(value: int) -> None:
    bags = [(torch.tensor([1]),), (torch.tensor([value]),)]
    group = tables()
    with pytest.raises(InputError, match=rf"feature 'b': id must be in \[0, 7\), but got {value}"):
        group(bags)
    with torch.no_grad(), pytest.raises(RuntimeError, match="out of bounds"):
        group(bags)
    group.fuse_optimizer(learning_rate=0.1)
    with pytest.raises(RuntimeError, match=r"idx|out of bounds"):
        group(bags)


def test_bad_settings_say_why() -> None:
    with pytest.raises(InputError, match="learning_rate must be > 0, but got 0"):
        tables().fuse_optimizer(learning_rate=0)
    with pytest.raises(InputError, match=r"needs one dim, but got \[4, 8\]"):
        FbgemmTables(FEATURES, (TableSpec(dim=8, backend="fbgemm"), TableSpec(dim=4, backend="fbgemm")))
