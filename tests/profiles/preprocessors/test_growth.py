from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles.errors import MeasurementError
from profiles.preprocessors.growth import Growth, bags_among

Pair = namedtuple("Pair", ["first", "second"])  # noqa: PYI024 (the untyped kind is what models pass around)


@dataclass
class Features:
    ids_B: torch.Tensor
    scale: float
    table_RD: torch.Tensor


def grown(small: Any, double: Any, factor: int = 3) -> Any:
    return Growth(factor=factor).of(small, double)


def twice(tensor: torch.Tensor, dim: int = 0) -> torch.Tensor:
    return torch.cat([tensor, tensor], dim)


def test_what_has_one_shape_at_both_sizes_is_left_alone() -> None:
    mask_TT = torch.rand(4, 4)
    assert grown(mask_TT, mask_TT) is mask_TT


@given(
    batch=st.integers(1, 4),
    factor=st.integers(1, 5),
    parts=st.integers(1, 4),
    is_batch_first=st.booleans(),
    width=st.integers(1, 3),
)
@settings(max_examples=60)
def test_merged_dimensions_grow_as_the_batch_does(
    batch: int, factor: int, parts: int, is_batch_first: bool, width: int
) -> None:
    def merged(samples: int) -> torch.Tensor:
        """Sample b of every batch holds b modulo the small batch, plus 100 by part."""
        own_B1 = torch.arange(samples)[:, None] % batch
        of_part_BP = own_B1 + 100 * torch.arange(parts)
        return (of_part_BP if is_batch_first else of_part_BP.T).reshape(-1, 1).repeat(1, width)

    larger = grown(merged(batch), merged(2 * batch), factor)
    assert larger.shape == merged(factor * batch).shape
    if parts == 1 or batch > 1 or is_batch_first:
        assert torch.equal(larger, merged(factor * batch))


@given(batch=st.integers(1, 5), factor=st.integers(1, 5), constant=st.integers(0, 3), parts=st.integers(1, 3))
def test_a_part_that_is_not_of_the_batch_is_not_repeated(batch: int, factor: int, constant: int, parts: int) -> None:
    def rows(samples: int) -> torch.Tensor:
        return torch.zeros(constant + samples * parts, 2)

    assert grown(rows(batch), rows(2 * batch), factor).shape == rows(factor * batch).shape


def test_a_square_of_the_batch_grows_as_a_square() -> None:
    assert grown(torch.rand(9), torch.rand(36), 4).shape == (9 * 16,)
    assert grown(torch.rand(3, 3), torch.rand(6, 6), 4).shape == (12, 12)


def test_a_size_that_follows_no_rule_is_named() -> None:
    with pytest.raises(MeasurementError, match="a dimension of 3 becomes 7 in twice the batch"):
        grown(torch.rand(3), torch.rand(7))


@given(lengths=st.lists(st.integers(0, 4), min_size=1, max_size=6), factor=st.integers(1, 4))
def test_offsets_of_bags_go_on_where_the_last_ended(lengths: list[int], factor: int) -> None:
    def ends(times: int) -> torch.Tensor:
        return torch.tensor([0, *np.cumsum(lengths * times)])

    assert torch.equal(grown(ends(1), ends(2), factor), ends(factor))
    if lengths[-1]:
        assert torch.equal(grown(ends(1)[:-1], ends(2)[:-1], factor), ends(factor)[:-1])


def test_offsets_of_features_one_after_another_keep_their_order() -> None:
    def ends(times: int) -> torch.Tensor:
        return torch.tensor([0, *np.cumsum([1, 2] * times + [5, 0] * times)])

    assert torch.equal(grown(ends(1), ends(2), 3), ends(3))


def test_indices_of_samples_go_on() -> None:
    assert torch.equal(grown(torch.arange(4), torch.arange(8)), torch.arange(12))


def test_an_expanded_dimension_stays_expanded() -> None:
    larger = grown(torch.ones(1, 1).expand(4, 1000), torch.ones(1, 1).expand(8, 1000), 8)
    assert larger.shape == (32, 1000)
    assert larger.untyped_storage().nbytes() <= 4 * 32
    one_per_row = torch.arange(4.0)[:, None].expand(4, 1000)
    assert grown(one_per_row, twice(one_per_row), 8).untyped_storage().nbytes() <= 4 * 32


def test_gradients_are_wanted_where_they_were() -> None:
    assert grown(torch.rand(2, requires_grad=True), torch.rand(4)).requires_grad


def test_numbers_containers_and_objects_grow_by_their_parts() -> None:
    table_RD, ids_B = torch.rand(5, 2), torch.tensor([0, 1])
    small: dict[str, Any] = {
        "pair": Pair(4, "x"),
        "list": [Features(ids_B, 0.5, table_RD)],
        "size": torch.Size([2, 7]),
        "none": None,
    }
    double = {
        "pair": Pair(8, "x"),
        "list": [Features(twice(ids_B), 0.5, table_RD)],
        "size": torch.Size([4, 7]),
        "none": None,
    }
    larger = grown(small, double)
    assert larger["pair"] == Pair(12, "x")
    assert larger["list"][0].ids_B.tolist() == [0, 1] * 3
    assert larger["list"][0].table_RD is table_RD
    assert tuple(larger["size"]) == (6, 7)
    assert small["list"][0].ids_B is ids_B


def test_one_tensor_given_twice_stays_one() -> None:
    x_B, x_2B = torch.rand(3), torch.rand(6)
    first, second = grown((x_B, x_B), (x_2B, x_2B))
    assert first is second


@pytest.mark.parametrize(
    ("small", "double"),
    [
        ((torch.ones(2),), (torch.ones(4),) * 2),
        ({"a": 1}, {"b": 1}),
        (torch.ones(2), [1]),
        (torch.ones(2), torch.ones(2, 2)),
    ],
)
def test_inputs_of_another_form_are_named(small: Any, double: Any) -> None:
    with pytest.raises(MeasurementError, match="batch:"):
        grown(small, double)


def test_ids_are_drawn_anew_for_each_place() -> None:
    ids_BS = torch.stack([torch.arange(8), 100 + torch.arange(0, 80, 10)], dim=1)
    growth = Growth(factor=20, rng=np.random.default_rng(0))
    larger = growth.of(ids_BS, twice(ids_BS))
    assert torch.equal(larger[:8], ids_BS)
    assert larger[:, 0].max() <= 7
    assert larger[:, 1].min() >= 100
    assert larger[:, 1].max() <= 170
    assert len(torch.unique(larger[:, 1])) > 40


def test_ids_of_a_table_come_from_all_of_its_rows() -> None:
    growth = Growth(factor=50, rng=np.random.default_rng(0), id_range=(0, 999))
    ids_B = torch.tensor([3, 17, 801, 400])
    larger = growth.of((ids_B,), (twice(ids_B),))[0]
    assert len(torch.unique(larger)) > 100
    assert larger.max() <= 999


def test_lengths_and_flags_are_not_drawn() -> None:
    lengths_B, values_N, flags_B = torch.tensor([1, 2, 4]), torch.rand(7), torch.tensor([0, 1, 1])
    small = (lengths_B, values_N, flags_B)
    larger = Growth(factor=3, rng=np.random.default_rng(0)).of(small, tuple(twice(part) for part in small))
    assert larger[0].tolist() == [1, 2, 4] * 3
    assert larger[2].tolist() == [0, 1, 1] * 3


def test_ragged_bags_of_two_batches_with_other_contents_grow_together() -> None:
    small = (torch.arange(5), torch.tensor([0, 2, 3]))
    double = (torch.arange(13), torch.tensor([0, 4, 6, 7, 9, 12]))
    larger = Growth(factor=2, is_repeated=False).of(small, double)
    assert larger[0].tolist() == [*range(5), *range(5)]
    assert larger[1].tolist() == [0, 2, 3, 5, 7, 8]


def test_bags_with_a_last_end_grow_together() -> None:
    small, double = (
        (torch.arange(5), torch.tensor([0, 2, 3, 5])),
        (torch.arange(13), torch.tensor([0, 4, 6, 7, 9, 12, 13])),
    )
    assert bags_among(small, double, 2)[1].tolist() == [0, 2, 3, 5, 7, 8, 10]
