import pytest
import torch
from torch import nn

from profiles.counting.traffic import distinct_bytes, leaf_bytes, state_bytes, touched_rows


def test_a_linear_moves_its_inputs_outputs_and_parameters() -> None:
    linear, x_BF = nn.Linear(8, 4), torch.ones(2, 8)
    assert leaf_bytes(linear, ((x_BF,), {}), linear(x_BF)) == 4 * (2 * 8 + 2 * 4 + 8 * 4 + 4)


def test_a_table_moves_the_distinct_rows_that_are_touched() -> None:
    table, ids_BP = nn.EmbeddingBag(1000, 16, mode="sum"), torch.tensor([[7, 7, 7], [7, 8, 7]])
    assert leaf_bytes(table, ((ids_BP,), {}), table(ids_BP)) == 8 * 6 + 4 * 16 * 2 + 4 * 16 * 2


def test_the_ids_of_a_table_are_known_by_name() -> None:
    table, ids_N = nn.EmbeddingBag(1000, 16, mode="sum"), torch.tensor([7, 8, 9, 7])
    assert touched_rows(table, ((), {"offsets": torch.tensor([0, 2]), "input": ids_N})) == 3


def test_a_class_of_unknown_access_has_no_figure() -> None:
    class Custom(nn.Module):
        pass

    assert leaf_bytes(Custom(), ((), {}), ()) is None


def test_tied_weights_count_once() -> None:
    first, second = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
    second.weight = first.weight
    assert state_bytes(nn.Sequential(first, second)) == 4 * 16


def test_a_view_counts_what_it_shows() -> None:
    whole = torch.zeros(1000)
    views = nn.ParameterList([nn.Parameter(whole[:10]), nn.Parameter(whole[10:30])])
    assert state_bytes(views) == 4 * 30


def test_overlapping_views_count_no_more_than_their_storage() -> None:
    whole = torch.zeros(2, 10)
    views = nn.ParameterList([nn.Parameter(whole), nn.Parameter(whole.T), nn.Parameter(whole[1])])
    assert state_bytes(views) == 4 * 20


def test_persistent_buffers_count_and_passing_ones_do_not() -> None:
    module = nn.BatchNorm1d(4)
    module.register_buffer("scratch", torch.ones(100), persistent=False)
    assert state_bytes(module) == 4 * 4 * 4 + 8


def test_a_model_without_memory_is_counted_by_name() -> None:
    with torch.device("meta"):
        assert state_bytes(nn.Linear(4, 4)) == 4 * 20


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state")
def test_inputs_count_what_they_show() -> None:
    expanded, whole = torch.ones(8).expand(1000, 8), torch.ones(10, 4)
    assert distinct_bytes([expanded]) == 32
    assert distinct_bytes([whole, whole[1:], whole]) == 160
    assert distinct_bytes([torch.eye(3).to_sparse()]) == 3 * (4 + 2 * 8)
    for compressed in (torch.eye(3).to_sparse_csr(), torch.eye(3).to_sparse_csc()):
        assert distinct_bytes([compressed]) == 3 * (4 + 8) + 4 * 8


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")
def test_nested_tensors_count_their_elements() -> None:
    parts = [torch.ones(2, 4), torch.ones(3, 4)]
    for layout in (torch.strided, torch.jagged):
        assert distinct_bytes([torch.nested.nested_tensor(parts, layout=layout)]) == 5 * 4 * 4


def test_an_addition_in_place_moves_its_tensor_once_each_way() -> None:
    x_BF = torch.ones(4, 8)
    assert leaf_bytes(nn.ReLU(inplace=True), ((x_BF,), {}), x_BF) == 2 * 4 * 32
