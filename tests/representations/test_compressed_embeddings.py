"""Compressed embeddings against slow, obvious references in plain Python."""

from collections.abc import Callable, Sequence
from functools import partial

import pytest
import torch
from torch import Tensor

from profiles.errors import InputError
from representations.dhe.embedding import set_deduplication
from representations.embedding import build_embedding
from representations.mixed_dimension import MixedDimensionEmbedding
from representations.quotient_remainder import QuotientRemainderEmbedding
from representations.robe import RobeEmbedding
from representations.specs import ROBE_PRIME, EmbeddingSpec, Feature, MixedDimensionSpec, RobeSpec, TensorTrainSpec
from representations.table import EmbeddingTable
from representations.tensor_train import TensorTrainEmbedding
from tests.representations.models import ADDED, JOINED, NARROW, PRODUCT, ROBE, TRAIN

FEATURE = Feature(name="f", cardinality=113)
LONG_TRAIN = TensorTrainSpec(dim=8, rank=2, row_factors=(3, 5, 2, 4), dim_factors=(2, 1, 2, 2))
UNEVEN_ROBE = RobeSpec(dim=7, floats=50, block=4)


def product_row(module: QuotientRemainderEmbedding, x: int) -> list[float]:
    q, r = module.quotient.weight[x // 7].tolist(), module.remainder.weight[x % 7].tolist()
    return [a * b for a, b in zip(q, r, strict=True)]


def added_row(module: QuotientRemainderEmbedding, x: int) -> list[float]:
    q, r = module.quotient.weight[x // 4].tolist(), module.remainder.weight[x % 4].tolist()
    return [a + b for a, b in zip(q, r, strict=True)]


def joined_row(module: QuotientRemainderEmbedding, x: int) -> list[float]:
    return [*module.quotient.weight[x // 4].tolist(), *module.remainder.weight[x % 4].tolist()]


def narrow_row(module: MixedDimensionEmbedding, x: int) -> list[float]:
    row = module.table.weight[x].tolist()
    return [sum(a * b for a, b in zip(row, weights, strict=True)) for weights in module.projection.weight.tolist()]


def train_row(q: Sequence[int], module: TensorTrainEmbedding, x: int) -> list[float]:
    """The tensor train's definition: for every index tuple (j1, j2, ...) the product of one R x R matrix per core."""
    digits = []
    for radix in reversed(module.cores.radices):
        x, digit = divmod(x, radix)
        digits.append(digit)
    chains = [[1.0]]
    for core, digit, q_t in zip(module.cores.cores, reversed(digits), q, strict=True):
        matrix = core[digit].tolist()
        rank = len(matrix[0]) // q_t
        chains = [
            [sum(chain[r] * matrix[r][j * rank + s] for r in range(len(chain))) for s in range(rank)]
            for chain in chains
            for j in range(q_t)
        ]
    return [chain[0] for chain in chains]


def robe_row(module: RobeEmbedding, x: int) -> list[float]:
    spec, (array,) = module.rows.spec, module.rows._array
    a, b, c = array.coefficients.tolist()
    places = [
        ((a * x + b * (j // spec.block) + c) % ROBE_PRIME) % (spec.floats - spec.block + 1) + j % spec.block
        for j in range(spec.dim)
    ]
    values = array.weight.tolist()
    return [values[place] for place in places]


CASES: list[tuple[EmbeddingSpec, Callable[..., list[float]]]] = [
    (PRODUCT, product_row),
    (ADDED, added_row),
    (JOINED, joined_row),
    (NARROW, narrow_row),
    (TRAIN, partial(train_row, (2, 2, 2))),
    (LONG_TRAIN, partial(train_row, (2, 1, 2, 2))),
    (ROBE, robe_row),
    (UNEVEN_ROBE, robe_row),
]


def built(spec: EmbeddingSpec) -> torch.nn.Module:
    torch.manual_seed(0)
    return build_embedding(FEATURE, spec, seed=1)


@pytest.mark.parametrize(("spec", "row"), CASES, ids=lambda case: getattr(case, "kind", None))
def test_every_row_equals_the_reference(spec: EmbeddingSpec, row: Callable[..., list[float]]) -> None:
    module = built(spec)
    wanted = torch.tensor([row(module, x) for x in range(113)])
    assert torch.allclose(module(torch.arange(113)), wanted, atol=1e-6)


@pytest.mark.parametrize("spec", [spec for spec, _ in CASES], ids=lambda spec: spec.kind)
def test_bags_are_summed_and_empty_ones_are_zeros(spec: EmbeddingSpec) -> None:
    module, ids = built(spec), torch.tensor([5, 5, 112, 0, 7])
    rows = module(ids)
    wanted = torch.stack([rows[0] + rows[1], torch.zeros(spec.width), rows[2] + rows[3] + rows[4]])
    assert torch.allclose(module(ids, torch.tensor([0, 2, 2])), wanted, atol=1e-6)


@pytest.mark.parametrize("spec", [spec for spec, _ in CASES], ids=lambda spec: spec.kind)
def test_bytes_are_exact_and_every_parameter_learns(spec: EmbeddingSpec) -> None:
    module = built(spec)
    state = (*module.parameters(), *module.buffers())
    assert sum(t.numel() * t.element_size() for t in state) == spec.parameter_bytes(FEATURE)
    torch.autograd.backward(module(torch.arange(113)).square().sum())
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in module.parameters())


def gradients(module: torch.nn.Module, ids: Tensor) -> list[Tensor]:
    module.zero_grad()
    torch.autograd.backward(module(ids).square().sum())
    return [p.grad.clone() for p in module.parameters() if p.grad is not None]


@pytest.mark.parametrize("spec", [TRAIN, LONG_TRAIN])
def test_deduplication_changes_neither_rows_nor_gradients(spec: TensorTrainSpec) -> None:
    module, ids = built(spec), torch.randint(113, (300,))
    rows, wanted = module(ids), gradients(module, ids)
    set_deduplication(module, enabled=True)
    assert torch.allclose(module(ids), rows, atol=1e-6)
    for got, want in zip(gradients(module, ids), wanted, strict=True):
        assert torch.allclose(got, want, atol=1e-5)


@pytest.mark.parametrize(
    "spec", [PRODUCT, ADDED, JOINED, NARROW, TensorTrainSpec(dim=64, rank=16), RobeSpec(dim=8, floats=4000)]
)
def test_rows_begin_as_spread_as_those_of_a_table(spec: EmbeddingSpec) -> None:
    feature = Feature(name="f", cardinality=4000)
    torch.manual_seed(1)
    rows = build_embedding(feature, spec)(torch.arange(4000))
    assert rows.std().item() == pytest.approx((3 * 4000) ** -0.5, rel=0.25)


def test_small_or_full_width_features_keep_a_plain_table() -> None:
    few = Feature(name="f", cardinality=10)
    assert isinstance(build_embedding(few, PRODUCT), EmbeddingTable)
    assert build_embedding(few, JOINED)(torch.arange(3)).shape == (3, 8)
    assert isinstance(build_embedding(few, MixedDimensionSpec(dim=8, inner_dim=8)), EmbeddingTable)


def test_printed_modules_tell_their_sizes() -> None:
    assert "120 rows as 3 x 5 x 2 x 4, dim=8" in str(built(LONG_TRAIN))
    assert "floats=101, block=3, dim=8" in str(built(ROBE))


@pytest.mark.parametrize("spec", [JOINED, TRAIN, ROBE], ids=lambda spec: spec.kind)
@pytest.mark.parametrize("value", [-1, 113, 2**40])
def test_an_id_beyond_the_feature_never_reads_another_row(spec: EmbeddingSpec, value: int) -> None:
    module = built(spec)
    with pytest.raises(InputError, match=rf"feature 'f', row 1: id must be in \[0, 113\), but got {value}"):
        module(torch.tensor([5, value]))


def test_ids_of_fewer_bits_are_looked_at_too() -> None:
    with pytest.raises(InputError, match=r"row 0: .* but got 114"):
        built(ROBE)(torch.tensor([114], dtype=torch.int32))
