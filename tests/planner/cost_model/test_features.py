import numpy as np
import pytest

from planner.cost_model.features import dimensions_of, drivers_of, family_of
from profiles.component import make_component
from profiles.errors import InputError
from representations.components import work_of
from tests.planner.cost_model.synthetic import linears


def test_text_values_dtype_and_pass_tell_families_apart_and_sizes_do_not() -> None:
    relu = make_component("elementwise", 1, {"function": "relu", "width": 8})
    half = make_component("linear", 1, {"in_features": 8, "out_features": 8}, dtype="float16", phase="backward")
    assert family_of(relu) == "elementwise(relu)"
    assert family_of(half) == "linear(float16, backward)"
    assert {family_of(component) for component in linears([(8, 8), (16, 4)])} == {"linear"}


def test_features_are_finite_for_a_component_without_flops() -> None:
    table = make_component("embedding", 1, {"rows": 1, "dim": 1, "pooling": 1.0, "zipf": 0.0, "backend": "torch"})
    drivers = drivers_of([table], work_of)
    assert drivers.names == ("batch", "context_bytes", "dim", "pooling", "rows", "zipf")
    assert np.isfinite(drivers.features()).all()


def test_the_range_of_ids_costs_hashing_only_the_prime_that_it_needs() -> None:
    few, many, wide = (
        make_component("dhe_encoder", 4, {"k": 8, "rows": rows, "transform": "uniform"})
        for rows in (100, 2**31 - 1, 2**31)
    )
    drivers = drivers_of([few, many, wide], work_of)
    assert drivers.names == ("batch", "k", "wide_ids")
    assert drivers.dimensions_ND.tolist() == [[4, 8, 0], [4, 8, 0], [4, 8, 1]]


def test_a_missing_dimension_is_named() -> None:
    component = make_component("concat", 4, {"width": 8})
    with pytest.raises(InputError, match=r"needs the dimensions batch, parts, width, but got batch, width"):
        drivers_of([component], work_of, ("batch", "parts", "width"))


def test_an_encoder_that_does_not_say_how_many_ids_it_knows_is_refused() -> None:
    with pytest.raises(InputError, match=r"'dhe_encoder': shape lacks 'rows' in"):
        dimensions_of(make_component("dhe_encoder", 4, {"k": 8}))


def test_no_components_give_empty_drivers() -> None:
    assert drivers_of([], work_of).dimensions_ND.shape == (0, 1)


def test_a_table_that_names_no_traffic_has_none() -> None:
    shape: dict[str, int | float | str] = {"rows": 10, "dim": 4, "pooling": 1.0, "zipf": 0.0, "backend": "torch"}
    alone, within = (make_component("embedding", 8, one) for one in (shape, {**shape, "context_bytes": 4096}))
    assert dimensions_of(alone)["context_bytes"] == 0
    assert dimensions_of(within)["context_bytes"] == 4096
    assert drivers_of([alone, within], work_of).names[1:] == ("context_bytes", "dim", "pooling", "rows", "zipf")


def test_features_tell_how_sizes_fit_vectors() -> None:
    even, odd = drivers_of(linears([(64, 48), (63, 47)], (8,)), work_of).features()[:, -6:]
    assert even.tolist() == [3, 5, 4, 1.0, 0.0, 0.0]
    np.testing.assert_allclose(odd, [3, 0, 0, 1.0, 1 / 63, 1 / 47])


def test_ids_are_bags_times_pooling_times_tables() -> None:
    sizes = {"rows": 100, "dim": 4, "pooling": 5.0, "zipf": 0.0, "tables": 3}
    group = make_component("embedding_group", 2, {**sizes, "backend": "torch"})
    assert drivers_of([group], work_of).ids_N.tolist() == [30]
    assert drivers_of(linears([(4, 4)], (7,)), work_of).ids_N.tolist() == [7]
