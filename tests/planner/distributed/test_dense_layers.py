import pytest

from planner.distributed import EmbeddingTable
from planner.distributed.dense_layers import DenseLayers, layers_from_totals, layers_from_widths
from profiles.errors import InputError

TABLES = tuple(EmbeddingTable(name=f"t{i}", rows=10, dim=4) for i in range(2))


def test_dot_products_and_the_bottom_s_output_enter_the_top() -> None:
    layers = layers_from_widths(TABLES, dense_features=3, bottom_mlp=(8, 4), top_mlp=(5, 1))
    assert layers.bottom.widths == (3, 8, 4)
    # 3 vectors make 3 pairs, beside the 4 numbers of the bottom.
    assert layers.top.widths == (7, 5, 1)
    assert layers.interaction_flops == 2 * 3 * 3 * 4


def test_without_dense_features_only_products_enter_the_top() -> None:
    assert layers_from_widths(TABLES, top_mlp=(5, 1)).top.widths == (1, 5, 1)
    assert layers_from_widths(TABLES) == DenseLayers()


def test_concatenated_vectors_may_have_any_widths() -> None:
    other = (*TABLES, EmbeddingTable(name="wide", rows=10, dim=16))
    layers = layers_from_widths(other, interaction="concat", top_mlp=(5, 1))
    assert (layers.top.widths, layers.interaction_flops, layers.interaction_numbers) == ((24, 5, 1), 0, 48)
    with pytest.raises(InputError, match="dot needs vectors of one width, but wide has 16 and t0 has 4"):
        layers_from_widths(other, top_mlp=(5, 1))


def test_totals_are_halved_between_bottom_and_top() -> None:
    layers = layers_from_totals(100.0, 5)
    assert (layers.bottom.layers, layers.top.layers) == (2, 3)
    assert layers.bottom.flops_per_sample + layers.top.flops_per_sample == 100e6
    assert layers.bottom.parameters + layers.top.parameters == 50_000_000
    assert layers_from_totals(0.0) == DenseLayers()
    with pytest.raises(InputError, match="layers: must be >= 2, but got 1"):
        layers_from_totals(1.0, 1)
