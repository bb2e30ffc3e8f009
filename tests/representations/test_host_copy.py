import pytest
import torch

from profiles.component import Component, make_component
from profiles.errors import InputError, UnknownNameError
from representations.provider import RecommendationProvider
from representations.work import work_of


def trip(layout: str, *, batch: int = 4, tables: int = 3, ids: int = 10) -> Component:
    return make_component("host_to_device", batch, {"tables": tables, "ids_per_table": ids, "layout": layout})


def copies_of(component: Component) -> list[torch.Tensor]:
    copies = RecommendationProvider().build(component, 0).module()
    assert isinstance(copies, list)
    return copies


def test_both_layouts_bring_the_same_numbers() -> None:
    (combined,) = copies_of(trip("combined"))
    pairs = copies_of(trip("per_table"))
    assert len(pairs) == 6
    assert torch.equal(combined, torch.cat(pairs[::2] + pairs[1::2]))
    assert [int(lengths.sum()) for lengths in pairs[::2]] == [10, 10, 10]


def test_work_counts_what_is_sent() -> None:
    work = work_of(trip("combined"))
    assert work.input_bytes == 8 * sum(len(copy) for copy in copies_of(trip("combined")))
    assert (work.bytes_moved, work.flops, work.parameter_bytes) == (2 * work.input_bytes, 0, 0)


def test_bad_trips_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="host_to_device layout: unknown name 'zipped'"):
        copies_of(trip("zipped"))
    with pytest.raises(InputError, match="must have tables and ids, but got 0 and 10"):
        copies_of(trip("combined", tables=0))
