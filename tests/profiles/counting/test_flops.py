from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from profiles.counting.flops import custom_mapping, has_formula

pytestmark = pytest.mark.filterwarnings("ignore:TF32 acceleration on top of oneDNN:UserWarning")
aten = torch.ops.aten


def flops(call: Callable[[], Any]) -> int:
    with FlopCounterMode(display=False, custom_mapping=custom_mapping()) as counter:
        call()
    return sum(counter.flop_counts["Global"].values())


@contextmanager
def decomposed() -> Iterator[None]:
    """Every fused path off, so that all work is done by products that torch counts itself."""
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH), torch.backends.mkldnn.flags(enabled=False):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(True)


def decomposed_flops(call: Callable[[], Any]) -> int:
    with decomposed(), FlopCounterMode(display=False) as counter:
        call()
    return sum(counter.flop_counts["Global"].values())


def forward_and_backward(module: Callable[..., Any], *args: torch.Tensor) -> Callable[[], Any]:
    def call() -> None:
        output = module(*args)
        output = output[0] if isinstance(output, tuple) else output
        torch.autograd.backward(output.sum())

    return call


def leaf(*shape: int) -> torch.Tensor:
    return torch.rand(*shape, requires_grad=True)


def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *, is_causal: bool = False) -> torch.Tensor:
    return functional.scaled_dot_product_attention(query, key, value, is_causal=is_causal)


@pytest.mark.parametrize("is_causal", [False, True])
def test_attention_counts_the_full_square(is_causal: bool) -> None:
    query, key, value = leaf(2, 3, 5, 8), leaf(2, 3, 5, 8), leaf(2, 3, 5, 8)
    assert flops(lambda: attend(query, key, value, is_causal=is_causal)) == 2 * 2 * 3 * 5 * 5 * (8 + 8)


def test_attention_forward_and_backward_count_as_their_decomposition_does() -> None:
    call = forward_and_backward(attend, leaf(2, 3, 5, 8), leaf(2, 3, 7, 8), leaf(2, 3, 7, 8))
    assert flops(call) == decomposed_flops(call) == 3 * 2 * 2 * 3 * 5 * 7 * 16


def test_grouped_query_attention_counts_every_query_head() -> None:
    query, key = leaf(2, 4, 5, 8), leaf(2, 2, 7, 8)
    call = lambda: functional.scaled_dot_product_attention(query, key, key, enable_gqa=True)  # noqa: E731
    assert flops(call) == 2 * 2 * 4 * 5 * 7 * 16


@pytest.mark.parametrize("need_weights", [False, True])
def test_the_fast_path_of_multi_head_attention_counts_as_the_slow_one(need_weights: bool) -> None:
    attention, x_BTF = nn.MultiheadAttention(8, 2, batch_first=True).eval(), torch.rand(3, 5, 8)
    with torch.no_grad():
        call = lambda: attention(x_BTF, x_BTF, x_BTF, need_weights=need_weights)  # noqa: E731
        assert flops(call) == decomposed_flops(call) == 2 * 15 * 8 * 32 + 4 * 3 * 5 * 5 * 8


def test_the_fast_path_of_an_encoder_layer_counts_as_the_slow_one() -> None:
    layer, x_BTF = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), torch.rand(3, 5, 8)
    with torch.no_grad():
        assert flops(lambda: layer(x_BTF)) == decomposed_flops(lambda: layer(x_BTF)) > 0


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
def test_nested_sequences_count_their_own_lengths() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    sequences = [torch.rand(length, 8) for length in (3, 5)]
    with torch.no_grad():
        nested = flops(lambda: layer(torch.nested.nested_tensor(sequences)))
        assert nested == sum(flops(partial(layer, one[None])) for one in sequences)


@pytest.mark.parametrize("recurrent", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers_count_as_their_decomposition_does(recurrent: Callable[..., nn.Module]) -> None:
    module = recurrent(4, 6, num_layers=2, bidirectional=True)
    weights = sum(parameter.numel() for parameter in module.parameters() if parameter.ndim == 2)
    call = partial(module, leaf(3, 2, 4))
    assert flops(call) == decomposed_flops(call) == 2 * 6 * weights
    with torch.no_grad():
        assert flops(call) == 2 * 6 * weights


def test_a_recurrent_layer_counts_twice_as_much_backward() -> None:
    module = nn.LSTM(4, 6)
    assert flops(forward_and_backward(module, leaf(3, 2, 4))) == 3 * flops(lambda: module(leaf(3, 2, 4)))


def test_cudnn_recurrence_counts_every_matrix_once_per_step() -> None:
    steps, weights = torch.rand(3, 2, 4), [torch.rand(24, 4), torch.rand(24, 3), torch.rand(24), torch.rand(3, 6)]
    forward, backward = custom_mapping()[aten._cudnn_rnn], custom_mapping()[aten._cudnn_rnn_backward]
    shapes = [weight.shape for weight in weights]
    assert forward(steps.shape, shapes) == 2 * 6 * (96 + 72 + 18)
    assert backward(steps.shape, shapes) == 2 * forward(steps.shape, shapes)


def test_a_bilinear_layer_counts_its_two_contractions() -> None:
    module, first, second = nn.Bilinear(3, 4, 5), torch.rand(2, 3), torch.rand(2, 4)
    einsum = decomposed_flops(lambda: torch.einsum("bi,oij,bj->bo", first, module.weight, second))
    assert flops(lambda: module(first, second)) == einsum == 2 * 2 * 5 * 3 * 4 + 2 * 2 * 5 * 4


def test_distances_count_their_product_and_only_it() -> None:
    many, few = torch.rand(2, 30, 3), torch.rand(2, 28, 3)
    assert flops(lambda: torch.cdist(many, few)) == 2 * 2 * 30 * 28 * (3 + 2)
    assert flops(lambda: torch.cdist(many, few, p=1)) == 0


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        (lambda: torch.fft.fft(torch.rand(3, 16, dtype=torch.complex64)), 5 * 3 * 16 * 4),
        (lambda: torch.fft.rfft(torch.rand(3, 16)), 5 * 3 * 16 * 4 // 2),
        (lambda: torch.fft.irfft(torch.rand(3, 9, dtype=torch.complex64)), 5 * 3 * 16 * 4 // 2),
        (lambda: torch.fft.fft2(torch.rand(4, 8, dtype=torch.complex64)), 5 * 32 * 5),
    ],
)
def test_fourier_transforms_count_as_fftw_counts_them(transform: Callable[[], Any], expected: int) -> None:
    assert flops(transform) == expected


def test_a_weighted_bag_is_a_product_and_an_unweighted_one_is_not() -> None:
    bag, ids = nn.EmbeddingBag(10, 4, mode="sum"), torch.arange(6).reshape(2, 3)
    weights = leaf(2, 3)
    assert flops(lambda: bag(ids)) == 0
    assert flops(lambda: bag(ids, per_sample_weights=weights)) == 2 * 6 * 4
    assert flops(forward_and_backward(lambda: bag(ids, per_sample_weights=weights))) == 3 * 2 * 6 * 4


def test_products_with_vectors_count() -> None:
    matrix, left, right = torch.rand(3, 4), torch.rand(3), torch.rand(4)
    assert flops(lambda: matrix @ right) == flops(lambda: left @ matrix) == 24
    assert flops(lambda: torch.addmv(left, matrix, right)) == flops(lambda: torch.addr(matrix, left, right)) == 24
    assert flops(lambda: right @ right) == flops(lambda: torch.vdot(right, right)) == 8


def test_products_in_place_count() -> None:
    total, left, right = torch.zeros(2, 3, 5), torch.rand(2, 3, 4), torch.rand(2, 4, 5)
    assert flops(lambda: total.baddbmm_(left, right)) == flops(lambda: torch.addbmm(total[0], left, right)) == 240
    assert flops(lambda: total[0].addmm_(left[0], right[0])) == 120


def test_low_precision_and_fused_products_count() -> None:
    ones = torch.ones(32, 16, dtype=torch.int8)
    assert flops(lambda: torch._int_mm(ones, ones.T)) == 2 * 32 * 16 * 32
    assert flops(lambda: torch._addmm_activation(torch.rand(4), torch.rand(2, 3), torch.rand(3, 4))) == 48


def test_grouped_products_count_each_row_once() -> None:
    left, right = torch.rand(16, 8).bfloat16(), torch.rand(2, 8, 24).bfloat16()
    offsets = torch.tensor([8, 16], dtype=torch.int32)
    assert flops(lambda: torch._grouped_mm(left, right, offs=offsets)) == 2 * 16 * 8 * 24
    assert custom_mapping()[aten._grouped_mm]((2, 16, 8), (2, 8, 24)) == 2 * 2 * 16 * 8 * 24


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
@pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")
def test_a_sparse_matrix_counts_what_it_stores() -> None:
    dense = torch.rand(4, 3)
    for sparse in (torch.eye(4).to_sparse(), torch.eye(4).to_sparse_csr()):
        assert flops(partial(torch.matmul, sparse, dense)) == 2 * 4 * 3
        assert flops(partial(torch.matmul, sparse, dense[:, 0])) == 2 * 4


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("convolution", [nn.Conv1d, nn.ConvTranspose1d])
def test_a_convolution_counts_twice_as_much_backward(convolution: Callable[..., nn.Module], groups: int) -> None:
    module, signal = convolution(4, 8, 3, groups=groups), leaf(2, 4, 10)
    spatial = 8 if convolution is nn.Conv1d else 10
    expected = 2 * 2 * spatial * 4 * 8 * 3 // groups
    assert flops(lambda: module(signal)) == expected
    assert flops(forward_and_backward(module, signal)) == 3 * expected
    assert flops(forward_and_backward(module, signal.detach())) == 2 * expected


@pytest.mark.filterwarnings("ignore")
def test_a_quantised_layer_counts_as_the_layer() -> None:
    module: nn.Module = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(4, 6)))  # type: ignore[no-untyped-call]  # not annotated in torch
    assert flops(lambda: module(torch.rand(2, 4))) == 2 * 2 * 4 * 6


def test_convolutions_of_libraries_count_as_convolution_does() -> None:
    image, weight = torch.rand(2, 3, 8, 8), torch.rand(5, 3, 3, 3)
    call = lambda: aten.mkldnn_convolution(image, weight, None, [0, 0], [1, 1], [1, 1], 1)  # noqa: E731
    assert flops(call) == flops(lambda: functional.conv2d(image, weight)) > 0
    call = lambda: aten.slow_conv_transpose2d(image, weight[:3], [3, 3])  # noqa: E731
    assert flops(call) == flops(lambda: functional.conv_transpose2d(image, weight[:3])) > 0
    assert flops(lambda: torch.conv_tbc(torch.rand(8, 2, 3), torch.rand(3, 3, 5), torch.rand(5))) == 2 * 6 * 2 * 45


def test_every_formula_belongs_to_an_operator_and_is_known() -> None:
    assert len(custom_mapping()) > 30
    assert all(has_formula(packet) for packet in custom_mapping())
    assert has_formula(aten.mm.default)
    assert not has_formula(aten.relu.default)


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x_BTD: torch.Tensor) -> torch.Tensor:
        parts = self.qkv(x_BTD).chunk(3, -1)
        query, key, value = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        x_BTD = x_BTD + self.out(attend(query, key, value, is_causal=True).transpose(1, 2).flatten(2))
        output_BTD: torch.Tensor = x_BTD + self.down(functional.gelu(self.up(x_BTD)))
        return output_BTD


def transformer(layers: int, width: int, heads: int, vocabulary: int) -> nn.Sequential:
    blocks = [Block(width, heads) for _ in range(layers)]
    return nn.Sequential(nn.Embedding(vocabulary, width), *blocks, nn.Linear(width, vocabulary, bias=False))


def test_a_transformer_of_the_size_of_gpt2_small_counts_its_products_and_attention() -> None:
    with torch.device("meta"):
        model, ids_BT = transformer(12, 768, 12, 50304), torch.zeros(2, 128, dtype=torch.long)
    assert flops(lambda: model(ids_BT)) == 64_474_841_088


def test_a_transformer_counts_the_same_whatever_path_its_attention_takes() -> None:
    model, ids_BT = transformer(2, 32, 4, 50), torch.zeros(2, 16, dtype=torch.long)
    call, forward = forward_and_backward(model, ids_BT), flops(lambda: model(ids_BT))
    assert flops(call) == decomposed_flops(call) == 3 * forward
    with torch.inference_mode():
        assert flops(lambda: model(ids_BT)) == forward
