import numpy as np
import pytest

from planner.cost_model.features import BYTES_PER_MIB
from planner.cost_model.model import fit_device_model
from planner.cost_model.traffic import (
    TABLE_KINDS,
    activation_bytes,
    behind,
    context_bytes_of,
    displaced_bytes,
    in_context,
    in_pass,
)
from planner.cost_model.unseen import UnseenDeviceModel
from planner.cost_model.whole_sums import has_table_profiles
from profiles.component import make_component
from representations.components import components_of, work_of
from representations.presets import get_preset
from tests.planner.cost_model.synthetic import linears, profiles_of

PLACED = components_of(get_preset("dlrm-bench"), 512)
TABLE = next(one.component for one in PLACED if one.component.kind in TABLE_KINDS)


def test_only_tables_are_displaced_by_what_the_others_move() -> None:
    components = [one.component for one in PLACED]
    works = [work_of(component) for component in components]
    displaced, traffic = displaced_bytes(components, works), activation_bytes(components, works)
    for component, work, one in zip(components, works, displaced.tolist(), strict=True):
        expected = work.bytes_moved * np.log1p(traffic / BYTES_PER_MIB) if component.kind in TABLE_KINDS else 0.0
        assert one == pytest.approx(expected)


@pytest.mark.parametrize(
    ("traffic", "within"), [(0, 0), (0.8 * 2**20, 0), (0.9 * 2**20, 2**20), (5 * 2**20, 5_931_641)]
)
def test_traffic_is_rounded_to_half_doublings_and_little_is_none(traffic: float, within: int) -> None:
    assert context_bytes_of(np.array([traffic])) == within


def test_in_context_tables_name_the_traffic_and_all_else_is_as_it_was() -> None:
    for alone, within in zip(PLACED, in_context(PLACED, work_of), strict=True):
        shape = dict(within.component.shape)
        assert (shape.pop("context_bytes", 0) != 0) is (alone.component.kind in TABLE_KINDS)
        assert shape == dict(alone.component.shape)
        assert work_of(within.component) == work_of(alone.component)


def test_a_device_prices_tables_in_context_where_all_its_tables_were_profiled_so() -> None:
    others = linears([(8, 8), (64, 64)])
    within = fit_device_model(profiles_of([*others, behind(TABLE, 2**22)]), work_of)
    assert has_table_profiles(within)
    assert has_table_profiles(UnseenDeviceModel(within))
    half = make_component("embedding", TABLE.batch, dict(TABLE.shape), dtype="float16")
    assert not has_table_profiles(fit_device_model(profiles_of([*others, behind(TABLE, 2**22), half]), work_of))
    assert not has_table_profiles(fit_device_model(profiles_of(others), work_of))


def test_in_a_pass_every_component_stands_behind_what_the_whole_of_it_moves() -> None:
    small, large = (in_pass(components_of(get_preset("dlrm-bench"), batch), work_of) for batch in (1, 4096))
    contexts = [
        {(one.component["context_bytes"], one.component["context_frees"]) for one in at} for at in (small, large)
    ]
    assert contexts == [{(16 * BYTES_PER_MIB, 0)}, {(32 * BYTES_PER_MIB, 1)}]


def test_a_small_pass_leaves_the_caches_alone_but_says_so() -> None:
    placed = in_pass(components_of(get_preset("dlrm-flights"), 1), work_of)
    assert {(one.component["context_bytes"], one.component["context_frees"]) for one in placed} == {(0, 0)}
