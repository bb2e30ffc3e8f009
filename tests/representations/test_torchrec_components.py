import pytest
import torch

from profiles.component import Component, make_component
from profiles.errors import InputError
from profiles.providers import BuiltComponent
from representations.components import work_of
from representations.deepfm import FactorizationMachine
from representations.interaction import DotInteraction
from representations.provider import RecommendationProvider
from representations.torchrec_components import dot_interaction
from representations.work import rows_of_tables

BATCH = 6


def built(kind: str, **shape: float | str) -> BuiltComponent:
    return RecommendationProvider().build(make_component(kind, BATCH, shape), 0)


def tables(**more: float | str) -> Component:
    shape: dict[str, int | float | str] = {"tables": 3, "rows": 30, "dim": 4, "pooling": 2.0, "zipf": 0.0}
    return make_component("embedding_group", BATCH, {**shape, "backend": "torchrec", "ids": "jagged", **more})


def test_tables_answer_a_request_s_ids_feature_by_feature() -> None:
    one = RecommendationProvider().build(tables(rows_each="5 5 20"), 0)
    values_N, lengths_L = one.args
    assert lengths_L.tolist() == [2] * 3 * BATCH
    with torch.no_grad():
        rows_BW = one.module(*one.args).values()
    second = one.module.get_parameter("tables.collection.embedding_bags.table_1.weight")
    ids_B2 = values_N[2 * BATCH : 4 * BATCH].reshape(BATCH, 2)
    torch.testing.assert_close(rows_BW[:, 4:8], second[ids_B2].sum(dim=1))


def test_bags_of_one_id_have_lengths_of_one() -> None:
    one = RecommendationProvider().build(tables(pooling=1.0), 0)
    assert one.args[1].tolist() == [1] * 3 * BATCH


def test_joined_views_are_the_tensor_itself() -> None:
    one = built("concat", width=10, parts=3, layout="views")
    assert torch.equal(one.module(*one.args), one.args[0])


def test_the_machine_of_views_is_our_own_of_the_joined_vectors() -> None:
    one = built("interaction", function="torchrec_fm", width=10, parts=3)
    torch.testing.assert_close(one.module(*one.args), FactorizationMachine()(one.args[0]), rtol=1e-4, atol=1e-4)


def test_torchrec_s_interaction_is_our_own_of_the_same_vectors() -> None:
    one = built("interaction", function="torchrec_dot", vectors=4, dim=5)
    dense_BD, sparse_BFD = one.args
    ours = DotInteraction()(dense_BD, *sparse_BFD.unbind(1))
    torch.testing.assert_close(one.module(*one.args), ours)
    assert dot_interaction(3).F == 3


def test_tables_of_unequal_rows_are_told_by_their_rows() -> None:
    equal, unequal = tables(), tables(rows_each="1 1 28")
    assert rows_of_tables(equal) == (10, 10, 10)
    assert rows_of_tables(unequal) == (1, 1, 28)
    assert work_of(unequal).bytes_moved < work_of(equal).bytes_moved
    assert work_of(unequal).parameter_bytes == work_of(equal).parameter_bytes


@pytest.mark.parametrize("rows_each", ["10 20", "10 10 11"])
def test_rows_that_are_not_those_of_the_tables_are_refused(rows_each: str) -> None:
    with pytest.raises(InputError, match="rows_each must be 3 that sum to 30"):
        work_of(tables(rows_each=rows_each))
