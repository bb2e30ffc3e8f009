"""FLOPs of the operators that PyTorch's `FlopCounterMode` counts as 0, or counts by the path that happens to run.

The convention is torch's: products of matrices only, 2 FLOPs per multiply-add, attention over the full square (a causal
mask halves nothing), so that two models compare whatever kernels serve them. Element-wise work, reductions and gathers
count 0. A backward pass counts its products without what a kernel computes anew to save memory. Fourier transforms
count 5 N log2 N, as FFTW reports them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from math import log2, prod
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

__all__ = ["custom_mapping", "has_formula", "packet_of"]

Formula = Callable[..., int]
Shape = Sequence[int]


def custom_mapping() -> dict[Any, Formula]:
    """What to give `FlopCounterMode(custom_mapping=...)`: formulas by operator, of those that this torch has."""
    mapping: dict[Any, Formula] = {}
    for formula, names in _BY_SHAPES.items():
        mapping |= dict.fromkeys(_packets(names), formula)
    for formula, names in _BY_TENSORS.items():
        mapping |= dict.fromkeys(_packets(names), _of_tensors(formula))
    return mapping


def has_formula(op: Any) -> bool:
    """Whether the FLOPs of this operator (overload or packet) are counted, by torch or by `custom_mapping`."""
    packet = packet_of(op)
    return packet in flop_registry or packet in _cached_mapping()


def packet_of(op: Any) -> Any:
    """The operator without its overload: `aten.mm` of `aten.mm.default`."""
    return getattr(op, "overloadpacket", op)


_cached_mapping = cache(custom_mapping)


def _packets(names: str) -> Iterator[Any]:
    for name in names.split():
        namespace, _, operator = name.rpartition(".")
        packet = getattr(getattr(torch.ops, namespace or "aten"), operator, None)
        if packet is not None:
            yield packet


def _of_tensors(formula: Formula) -> Formula:
    """Marked so that `FlopCounterMode` gives the tensors, not their shapes."""

    def counted(*args: Any, **kwargs: Any) -> int:
        return formula(*args, **kwargs)

    counted._get_raw = True  # type: ignore[attr-defined]  # noqa: SLF001 (how FlopCounterMode is told)
    return counted


# Of shapes.


def _addmm(_self: Shape, left: Shape, right: Shape, *_: Any, **__: Any) -> int:
    return 2 * prod(left) * right[-1]


def _addmv(_self: Shape, matrix: Shape, *_: Any, **__: Any) -> int:
    return 2 * prod(matrix)


def _addr(_self: Shape, left: Shape, right: Shape, *_: Any, **__: Any) -> int:
    return 2 * prod(left) * prod(right)


def _vector(left: Shape, *_: Any, **__: Any) -> int:
    """A vector product, or a matrix times a vector: a multiply-add per element of the first."""
    return 2 * prod(left)


def _product(left: Shape, *_: Any, out_shape: Shape, **__: Any) -> int:
    """A product whose right side may be packed: a multiply-add per element of the left and column of the result."""
    return 2 * prod(left) * out_shape[-1]


def _grouped(left: Shape, right: Shape, *_: Any, **__: Any) -> int:
    """Groups along rows, columns or the inner dimension share one product's work; two stacks are as many products."""
    stacked = left[0] if len(left) == len(right) == 3 else 1
    return 2 * stacked * prod(left[-2:]) * right[-1]


def _foreach_mm(left: Sequence[Shape], right: Sequence[Shape], *_: Any, **__: Any) -> int:
    return sum(2 * prod(one) * other[-1] for one, other in zip(left, right, strict=True))


def _euclidean_distance(left: Shape, right: Shape, *_: Any, **__: Any) -> int:
    """One product of the points, each with its squared norm and a one beside its coordinates."""
    return 2 * prod(left[:-1]) * right[-2] * (left[-1] + 2)


def _attention(query: Shape, key: Shape, value: Shape, *_: Any, **__: Any) -> int:
    return 2 * prod(query[:-1]) * key[-2] * (query[-1] + value[-1])


def _attention_backward(_grad: Shape, query: Shape, key: Shape, value: Shape, *_: Any, **__: Any) -> int:
    """The gradients of scores, values, queries and keys; the scores that flash kernels compute anew are left out."""
    return 2 * _attention(query, key, value)


def _convolution(image: Shape, weight: Shape, *_: Any, out_shape: Shape, **__: Any) -> int:
    return 2 * image[0] * prod(out_shape[2:]) * prod(weight)


def _transposed_convolution(image: Shape, weight: Shape, *_: Any, **__: Any) -> int:
    return 2 * prod(image[2:]) * image[0] * prod(weight)


def _convolution_backward(grad: Shape, image: Shape, weight: Shape, *args: Any, **__: Any) -> int:
    """As many products as forward for each gradient asked for; torch's own formula counts groups too often."""
    transposed, output_mask = bool(args[4]), args[7]
    spatial = image if transposed else grad
    return 2 * sum(map(int, output_mask[:2])) * image[0] * prod(spatial[2:]) * prod(weight)


def _time_batch_convolution(_image: Shape, weight: Shape, *_: Any, out_shape: Shape, **__: Any) -> int:
    return 2 * prod(out_shape[:2]) * prod(weight)


def _recurrent(steps: Shape, weights: Sequence[Shape], *_: Any, **__: Any) -> int:
    """Every weight matrix once per step and sample; `steps` are [T, B, F], or packed [sum of T, F]."""
    return 2 * prod(steps[:-1]) * sum(prod(weight) for weight in weights if len(weight) == 2)


def _recurrent_backward(steps: Shape, weights: Sequence[Shape], *_: Any, **__: Any) -> int:
    return 2 * _recurrent(steps, weights)


def _recurrent_layer(steps: Shape, input_weight: Shape, hidden_weight: Shape, *_: Any, **__: Any) -> int:
    return _recurrent(steps, (input_weight, hidden_weight))


def _recurrent_layer_backward(steps: Shape, input_weight: Shape, hidden_weight: Shape, *_: Any, **__: Any) -> int:
    return 2 * _recurrent(steps, (input_weight, hidden_weight))


def _trilinear(first: Shape, second: Shape, third: Shape, *args: Any, **__: Any) -> int:
    """The first two are contracted over what the third has not, then the result with the third."""
    expand1, expand2, expand3, summed = (set(dims) for dims in args[:4])
    sizes = [1] * (len(first) + len(expand1))
    for shape, expanded in ((first, expand1), (second, expand2), (third, expand3)):
        kept = [dim for dim in range(len(sizes)) if dim not in expanded]
        for dim, size in zip(kept, shape, strict=True):
            sizes[dim] = max(sizes[dim], size)
    of_two = prod(size for dim, size in enumerate(sizes) if dim not in expand1 & expand2)
    of_three = prod(size for dim, size in enumerate(sizes) if dim not in summed & expand3)
    return 2 * (of_two + of_three)


def _weighted_bag(weight: Shape, indices: Shape, *args: Any, **kwargs: Any) -> int:
    """A weighted sum of rows is a product; an unweighted one is a reduction."""
    weights = args[4] if len(args) > 4 else kwargs.get("per_sample_weights")
    return 0 if weights is None else 2 * prod(indices) * weight[-1]


def _weighted_bag_backward(grad: Shape, indices: Shape, *args: Any, **__: Any) -> int:
    return 0 if args[8] is None else 2 * prod(indices) * grad[-1]


def _bag_weights_backward(grad: Shape, _weight: Shape, indices: Shape, *_: Any, **__: Any) -> int:
    return 2 * prod(indices) * grad[-1]


def _complex_fourier(signal: Shape, dims: Sequence[int], *_: Any, **__: Any) -> int:
    return round(5 * prod(signal) * log2(prod(signal[dim] for dim in dims)))


def _real_fourier(signal: Shape, dims: Sequence[int], *_: Any, **__: Any) -> int:
    return _complex_fourier(signal, dims) // 2


def _inverse_real_fourier(_signal: Shape, dims: Sequence[int], *_: Any, out_shape: Shape, **__: Any) -> int:
    return _complex_fourier(out_shape, dims) // 2


# Of tensors.


def _matrices(left: torch.Tensor, right: torch.Tensor, *_: Any, **__: Any) -> int:
    """Of a sparse matrix its stored elements only."""
    if left.layout is torch.strided and right.layout is not torch.strided:
        return 2 * _stored(right) * left.shape[0]
    return 2 * _stored(left) * right.shape[-1]


def _add_matrices(_self: torch.Tensor, left: torch.Tensor, right: torch.Tensor, *_: Any, **__: Any) -> int:
    return _matrices(left, right)


def _matrix_vector(matrix: torch.Tensor, *_: Any, **__: Any) -> int:
    return 2 * _stored(matrix)


def _stored(tensor: torch.Tensor) -> int:
    if tensor.layout is torch.sparse_coo:
        return tensor._values().numel()  # noqa: SLF001 (`values` asks for a coalesced tensor)
    return tensor.values().numel() if tensor.layout in _COMPRESSED else tensor.numel()


def _fused_attention_block(
    query: torch.Tensor,
    key: torch.Tensor,
    _value: torch.Tensor,
    _width: int,
    _heads: int,
    qkv_weight: torch.Tensor,
    _qkv_bias: torch.Tensor,
    out_weight: torch.Tensor,
    *_: Any,
    **__: Any,
) -> int:
    """Projections, attention over the full square, and the output projection; nested tensors by their true lengths."""
    width, flops = out_weight.shape[-1], 0
    for asked, held in zip(_lengths(query), _lengths(key), strict=True):
        flops += 2 * width * qkv_weight.shape[-1] * (asked + 2 * held)
        flops += 4 * asked * held * width + 2 * asked * out_weight.numel()
    return flops


def _encoder_layer(source: torch.Tensor, width: int, heads: int, *weights: Any, **__: Any) -> int:
    qkv_weight, qkv_bias, out_weight = weights[:3]
    feed_forward = int(weights[11].numel() + weights[13].numel())
    attention = _fused_attention_block(source, source, source, width, heads, qkv_weight, qkv_bias, out_weight)
    return attention + 2 * sum(_lengths(source)) * feed_forward


def _lengths(sequences: torch.Tensor) -> list[int]:
    """Tokens of each sequence of a [B, T, D] batch, nested or not."""
    if sequences.is_nested:
        return [len(sequence) for sequence in sequences.unbind()]
    return [sequences.shape[-2]] * prod(sequences.shape[:-2])


_COMPRESSED = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)
_BY_SHAPES: Mapping[Formula, str] = {
    _addmm: "_addmm_activation baddbmm_ addbmm addbmm_",
    _addmv: "addmv addmv_",
    _addr: "addr addr_",
    _vector: "dot vdot",
    _product: (
        "_int_mm _scaled_mm_v2 _weight_int8pack_mm _weight_int4pack_mm _weight_int4pack_mm_for_cpu mkldnn_linear "
        "_dyn_quant_matmul_4bit _mixed_dtypes_linear _sparse_semi_structured_linear quantized.linear "
        "quantized.linear_relu quantized.linear_dynamic quantized.linear_relu_dynamic quantized.linear_dynamic_fp16"
    ),
    _grouped: "_grouped_mm _scaled_grouped_mm _scaled_grouped_mm_v2",
    _foreach_mm: "_foreach_mm",
    _euclidean_distance: "_euclidean_dist",
    _attention: (
        "_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_fused_attention_overrideable "
        "_scaled_dot_product_attention_math_for_mps"
    ),
    _attention_backward: (
        "_scaled_dot_product_flash_attention_for_cpu_backward _scaled_dot_product_flash_attention_backward "
        "_scaled_dot_product_efficient_attention_backward _scaled_dot_product_cudnn_attention_backward "
        "_scaled_dot_product_fused_attention_overrideable_backward"
    ),
    _convolution: (
        "cudnn_convolution_relu cudnn_convolution_add_relu miopen_convolution miopen_convolution_relu "
        "miopen_convolution_add_relu miopen_depthwise_convolution mkldnn_convolution _conv_depthwise2d "
        "conv_depthwise3d slow_conv3d_forward slow_conv_dilated2d slow_conv_dilated3d"
    ),
    _transposed_convolution: (
        "cudnn_convolution_transpose miopen_convolution_transpose slow_conv_transpose2d slow_conv_transpose3d"
    ),
    _convolution_backward: "convolution_backward",
    _time_batch_convolution: "conv_tbc",
    _recurrent: "_cudnn_rnn miopen_rnn",
    _recurrent_backward: "_cudnn_rnn_backward miopen_rnn_backward",
    _recurrent_layer: "mkldnn_rnn_layer",
    _recurrent_layer_backward: "mkldnn_rnn_layer_backward",
    _trilinear: "_trilinear",
    _weighted_bag: "_embedding_bag _embedding_bag_forward_only",
    _weighted_bag_backward: "_embedding_bag_backward",
    _bag_weights_backward: "_embedding_bag_per_sample_weights_backward",
    _complex_fourier: "_fft_c2c",
    _real_fourier: "_fft_r2c",
    _inverse_real_fourier: "_fft_c2r",
}
_BY_TENSORS: Mapping[Formula, str] = {
    _matrices: "mm",
    _add_matrices: "addmm addmm_ _sparse_addmm",
    _matrix_vector: "mv",
    _fused_attention_block: "_native_multi_head_attention",
    _encoder_layer: "_transformer_encoder_layer_fwd",
}
