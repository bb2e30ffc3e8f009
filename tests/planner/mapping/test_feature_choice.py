import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.mapping.feature_choice import choose_features
from planner.mapping.feature_gains import FeatureGain, measure_gains, with_embeddings
from profiles.errors import InputError, UnknownNameError
from representations.specs import DheSpec, ModelSpec, TableSpec
from tests.planner.mapping.pools import tiny_base

TINY = with_embeddings(tiny_base(), {name: DheSpec(dim=8, k=16, widths=(16,)) for name in ("a", "b")})


def gain(feature: str, accuracy: float, size: int, us: float, dim: int = 8) -> FeatureGain:
    return FeatureGain(
        features=(feature,), embedding=TableSpec(dim=dim), accuracy_gain=accuracy, extra_bytes=size, extra_us=us
    )


def tables_matter(model: ModelSpec) -> float:
    """A table of `b` is worth 0.02, one of `a` costs 0.01."""
    is_table = [isinstance(embedding, TableSpec) for embedding in model.embeddings]
    return 0.75 - 0.01 * is_table[0] + 0.02 * is_table[1]


def test_each_option_is_judged_alone() -> None:
    options = {"a": [TableSpec(dim=8)], "b": [TableSpec(dim=8)]}
    a, b = measure_gains(TINY, options, tables_matter, lambda model: model.parameter_bytes / 1000)
    assert [a.accuracy_gain, b.accuracy_gain] == pytest.approx([-0.01, 0.02])
    changed = with_embeddings(TINY, {"a": TableSpec(dim=8)})
    assert a.extra_bytes == changed.parameter_bytes - TINY.parameter_bytes
    assert a.extra_us == pytest.approx(a.extra_bytes / 1000)
    assert a.name == "a"
    assert a.per_byte == pytest.approx(-0.01 / a.extra_bytes)


def test_what_gains_and_costs_nothing_goes_first() -> None:
    assert gain("a", 0.1, 0, -3.0).per_byte == math.inf
    assert gain("a", -0.1, 0, 1.0).per_byte == -math.inf
    assert gain("a", 0.0, 0, 0.0).per_us == 0.0
    free, dear = gain("a", 0.001, -10, -1.0), gain("b", 0.1, 100, 1.0)
    assert choose_features([dear, free], free_bytes=100, free_us=10.0).taken == (free, dear)


def test_bytes_and_time_each_decide_where_they_are_short() -> None:
    small_slow, large_fast = gain("a", 0.01, 10, 50.0), gain("b", 0.01, 1000, 5.0)
    short_of_bytes = choose_features([small_slow, large_fast], free_bytes=500, free_us=1000.0)
    short_of_time = choose_features([small_slow, large_fast], free_bytes=100_000, free_us=20.0)
    assert (short_of_bytes.taken, short_of_time.taken) == ((small_slow,), (large_fast,))
    assert short_of_bytes.free_bytes == 490
    assert short_of_time.free_us == 15.0


def test_a_better_option_of_a_feature_replaces_the_cheaper_one() -> None:
    narrow, wide = gain("a", 0.01, 10, 1.0, dim=4), gain("a", 0.015, 100, 1.0)
    chosen = choose_features([narrow, wide], free_bytes=1000, free_us=10.0)
    assert chosen.taken == (wide,)
    assert chosen.gap == pytest.approx(0.0)


def test_the_model_has_what_was_taken() -> None:
    chosen = choose_features([gain("b", 0.02, 10, 0.0), gain("a", -0.1, 1, 0.0)], free_bytes=100, free_us=0.0)
    model = chosen.model(TINY, "chosen")
    assert model.name == "chosen"
    assert isinstance(model.embeddings[0], DheSpec)
    assert model.embeddings[1] == TableSpec(dim=8)


@settings(deadline=None, max_examples=15)
@given(
    options=st.lists(
        st.tuples(st.sampled_from("abcde"), st.floats(-0.1, 0.1), st.integers(-100, 1000), st.floats(-10, 100)),
        max_size=12,
    ),
    free_bytes=st.integers(0, 2000),
    free_us=st.floats(0, 200),
)
def test_budgets_hold_and_no_choice_passes_the_bound(
    options: list[tuple[str, float, int, float]], free_bytes: int, free_us: float
) -> None:
    gains = [gain(*option, dim=place + 1) for place, option in enumerate(options)]
    chosen = choose_features(gains, free_bytes=free_bytes, free_us=free_us)
    assert chosen.free_bytes >= 0
    assert chosen.free_us >= -1e-9
    assert len({one.features for one in chosen.taken}) == len(chosen.taken)
    assert 0 <= chosen.gain <= chosen.best_gain + 1e-6


def test_bad_budgets_groups_and_features_are_refused() -> None:
    with pytest.raises(InputError, match="budgets must be finite and >= 0, but got -1 B"):
        choose_features([], free_bytes=-1, free_us=0.0)
    pair = FeatureGain(features=("a", "b"), embedding=TableSpec(dim=8), accuracy_gain=0.1, extra_bytes=1, extra_us=1.0)
    with pytest.raises(InputError, match="'a' changes with"):
        choose_features([gain("a", 0.1, 1, 1.0), pair], free_bytes=1, free_us=1.0)
    with pytest.raises(UnknownNameError, match="feature"):
        with_embeddings(TINY, {"z": TableSpec(dim=8)})
    with pytest.raises(InputError, match="accuracy_gain must be finite"):
        gain("a", math.nan, 1, 1.0)
