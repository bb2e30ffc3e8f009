"""What an operator does, so that one whose FLOPs nobody counts is told from one that has none."""

import re
from functools import cache
from typing import Any, Literal

import torch

from profiles.counting.flops import has_formula, packet_of

__all__ = ["OperatorWork", "operator_work"]

# `product`: FLOPs by formula. `elementwise` and `data`: 0 FLOPs by convention, and because it only moves bytes.
OperatorWork = Literal["product", "elementwise", "data", "unknown"]


def operator_work(op: Any) -> OperatorWork:
    """The kind of work of an operator (overload or packet), as a dispatch mode sees it below composite operators.

    What torch's tags, the operator's schema and known names do not tell is `unknown`: its FLOPs count as 0 and are not.
    """
    if has_formula(op):
        return "product"
    return _work_without_formula(packet_of(op))


@cache
def _work_without_formula(packet: Any) -> OperatorWork:
    namespace, _, name = str(packet).rpartition(".")
    forward = re.sub(r"_$|_backward.*$", "", name)
    if re.fullmatch(_DATA.get(namespace, ""), forward):
        return "data"
    if re.fullmatch(_ELEMENTWISE.get(namespace, ""), forward):
        return "elementwise"
    # In-place operators do not carry all tags of the ones they are named after.
    twins = (packet, getattr(getattr(torch.ops, namespace, None), name.rstrip("_"), packet))
    overloads = [getattr(twin, overload) for twin in twins for overload in getattr(twin, "overloads", list)()]
    if any(_shows_its_input(overload) for overload in overloads):
        return "data"
    if any({torch.Tag.pointwise, torch.Tag.reduction} & set(overload.tags) for overload in overloads):
        return "elementwise"
    return "unknown"


def _shows_its_input(overload: Any) -> bool:
    """Whether the result is a view."""
    if {torch.Tag.view_copy, torch.Tag.inplace_view} & set(overload.tags):
        return True
    aliases = [result.alias_info for result in overload._schema.returns]  # noqa: SLF001 (no public name)
    return any(alias is not None and not alias.is_write for alias in aliases)


def _any_of(names: str) -> str:
    return "|".join(names.split())


_DATA = {
    "aten": _any_of(
        r"""
        _?copy _?copy_from.* _to_copy _lazy_clone _?stack cat _chunk_cat _reshape_copy _unsafe_view unsafe_split.*
        (new_)?(empty|zeros|ones|full)(_.*)? _efficientzerotensor scalar_tensor arange linspace logspace eye range
        fill zero _new_zeros.* lift.* clone detach.* set resize.* _resize_output.* record_stream _?pin_memory is_pinned
        index index_(select|copy|fill|put|add|reduce) _?index_put_impl _unsafe_(index|masked_index).* gather take put
        scatter.* (select|slice|diagonal|as_strided)_scatter select slice diagonal unfold
        masked_(fill|scatter|select) where nonzero.* (unique|_unique).* repeat repeat_interleave roll flip rot90
        tril triu tril_indices triu_indices block_diag diag_embed constant_pad_nd (reflection|replication)_pad.*
        channel_shuffle pixel_(un)?shuffle im2col col2im embedding _embedding_bag.* embedding_(renorm|dense|sparse)
        sort topk kthvalue searchsorted bucketize isin bincount histc histogram _histogramdd.* randperm
        rand.* random normal.* uniform bernoulli exponential geometric cauchy log_normal multinomial poisson binomial
        _(philox|sample_dirichlet|standard_gamma).* _fill_mem_eff.* _cudnn_init_dropout_state
        _local_scalar_dense _assert_.* _functional_(assert|sym).* sym_.* _linalg_check_errors equal _print
        is_(same_size|set_to|coalesced) _has_same_storage_numel _make_dep_token _fused_sdp_choice _use_.*ctc_loss
        _pack_padded_sequence _pad_packed_sequence _cudnn_rnn_flatten_weight _nested_.* to_padded_tensor
        _jagged_to_padded_dense_forward _padded_dense_to_jagged_forward _transform_bias_rescale_qkv
        _?to_(dense|sparse.*|mkldnn) _mkldnn_(reshape|transpose) mkldnn_reorder.* _?coalesced? _nnz
        sparse_(coo|compressed|resize|mask|dim).* dense_dim _sparse_(coo|compressed)_tensor.* copy_sparse.*
        _validate_.* _convert_indices.* _convert_weight.* _dyn_quant_pack.* quantize_per_.* dequantize int_repr
        q_(scale|zero_point|per_channel.*) qscheme _empty_.* _make_per_.*quantized_tensor _foreach_(clone|copy|zero)
        max_unpool[23]d from_file
        """
    ),
    # Table-batched embeddings and jagged tensors: rows gathered and summed, ids moved.
    "fbgemm": _any_of(
        r"""
        (split|dense|ssd|int_nbit_split)_embedding.* (new_|emb|lxu|linearize|lru|lfu|bounds_check|permute|bucketize).*
        (asynchronous|expand|segment|offsets|keyed|block_bucketize|invert|group_index|index_select|regroup|reorder).*
        jagged_(to_padded|to_dense|index|unique|1d|2d).* (dense|padded_dense|stacked_jagged).*_to_.*
        """
    ),
    "profiler": ".*",
}
_ELEMENTWISE = {
    "aten": _any_of(
        r"""
        _foreach_.* _fused_(adam|adamw|adagrad|sgd|rms_norm|dropout|moving_avg.*) _amp_.* _thnn_fused_(gru|lstm)_cell.*
        (_?native_|cudnn_|miopen_|quantized_)?batch_norm.* _batch_norm.* native_(layer_norm|group_norm|dropout|norm)
        _weight_norm_interface renorm _?(log_)?softmax _safe_softmax _masked_(softmax|scale) _sparse_(log_)?softmax
        (_?adaptive_)?(avg|max)_pool.* fractional_max_pool.* (mkldnn|quantized)_.*pool.*
        _?upsample_.* (cudnn_)?(grid_sampler|affine_grid_generator).* _grid_sampler.*
        .*_loss.* binary_cross_entropy.* _(cudnn_)?ctc_loss dist _pdist_forward _pdist _cdist_forward _cdist
        log_sigmoid.* (hard)?(shrink|sigmoid|swish|tanh) (leaky_relu|elu|gelu|glu|mish|silu|softplus|softshrink).*
        threshold.* _prelu_kernel rrelu_with_noise.* _add_relu clamp.* r?sub xlogy heaviside copysign complex polar
        gcd|lcm|eq|ne|ge|gt|le|lt|floor_divide linalg_cross max min (nan)?median mode _?aminmax trace allclose
        _?(cum(sum|prod|max|min)|logcumsumexp)(_helper)? _is_(all|any)_true segment_reduce
        _sparse_(sum|csr_sum|csr_prod).* _?fake_quantize.* _compute_linear_combination
        (bartlett|blackman|hamming|hann|kaiser)_window fft_r?fftfreq hash_tensor
        """
    )
}
