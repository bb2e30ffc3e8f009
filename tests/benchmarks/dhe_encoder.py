"""The DHE encoder beside torch, and a whole DHE beside its matrix products."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from profiles.errors import MeasurementError
from representations.dhe.embedding import DheEmbedding
from representations.dhe.encoder import DheEncoder
from representations.dhe.hashing import HASH_MODULUS
from representations.dhe.kernels import encode_31
from representations.specs import DheSpec, Feature
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.markdown import table, with_quartiles
from tests.benchmarks.rivals import torch_hashing
from tests.benchmarks.timing import Alternative, Samples, interleave, ratios, spread_of

__all__ = ["BENCHMARK", "alternatives", "check_equal", "figures_of"]

# 26 features of a batch of 128.
_IDS = 3328
_SPEC = DheSpec(dim=16, k=1024, widths=(128,))
_FEATURE = Feature(name="id", cardinality=10_000_000)
# Two roundings of a float32 in [-1, 1].
_TOLERANCE = 2.5e-7
_LABELS = {
    "encoder": "encoder",
    "kernel": "encoder, memory given",
    "torch": "encoder in torch, `%` on int64",
    "torch_folded": "encoder in torch, shifts and adds",
    "torch_compile": "encoder in torch, compiled",
    "gemm_1": "first matrix product",
    "gemm_2": "second matrix product",
    "stack": "whole DHE",
}
_RATIOS = {
    "speedup_over_torch": "torch, `%` on int64, over encoder",
    "speedup_over_torch_folded": "torch, shifts and adds, over encoder",
    "speedup_over_torch_compile": "torch compiled over encoder",
    "share_of_first_gemm": "encoder over first matrix product",
    "stack_over_gemms": "whole DHE over both matrix products",
}
_INTRODUCTION = f"""\
A DHE of {_SPEC.k} hashes, decoded by {_SPEC.k}-{_SPEC.widths[0]}-{_SPEC.dim} with Mish, on {_IDS:,} ids of
{_FEATURE.cardinality:,}: the 26 features of a batch of 128. One thread, float32. Figures are medians over rounds with
quartiles in brackets; the alternatives take turns within a round. The encoders' outputs are compared first."""
_MEANING = """\
- **encoder**: ids to scaled hashes by the project's compiled kernel, called as the module that models call.
- *memory given*: the kernel alone, into memory that it wrote before; what is left of the encoder's time goes to fresh
  memory for each call's 13.6 MB of output.
- **torch, `%` on int64**: the formula as it stands, in plain tensor operations; the base of `speedup_over_torch`.
- **torch, shifts and adds**: the project's own fallback for tensors that the kernel cannot take; *compiled* is the
  `%` formula under `torch.compile`, in full runs where a C++ compiler is.
- **first, second matrix product**: `torch.mm` into a given output, without bias.
- **whole DHE**: ids to embeddings; `stack_over_gemms` says how much hashing, biases, activation and allocation add to
  the products that no decoder of this shape can do without."""

_REFERENCE = """\
- Reference: on a processor with AVX-512 the same kernel took 0.51 ms, torch's int64 arithmetic 38.8 ms (76 times as
  much), the first matrix product 8.7 ms (the encoder 6 % of it). Where the encoder takes a larger share here, fresh
  memory is not the reason (the line of given memory shows its part); presumably the width of the vector unit is: three
  integer multiplications per hash run in 64-bit lanes, of which AVX2 has four and AVX-512 eight."""


def encoders(ids_N: Tensor, encoder: DheEncoder, *, compiled: bool) -> dict[str, Callable[[], Tensor]]:
    """The encoder and its rivals."""
    arguments = (ids_N, encoder.a_K, encoder.b_K, encoder.prime, HASH_MODULUS)
    found: dict[str, Callable[[], Tensor]] = {
        "encoder": lambda: encoder(ids_N),
        "kernel": _kernel(ids_N, encoder),
        "torch": lambda: torch_hashing.encode(*arguments),
        "torch_folded": lambda: encoder._in_torch(ids_N),
    }
    if compiled:
        fused = torch.compile(torch_hashing.encode)
        found["torch_compile"] = lambda: fused(*arguments)
    return found


def _kernel(ids_N: Tensor, encoder: DheEncoder) -> Callable[[], Tensor]:
    out_NK = torch.empty(len(ids_N), encoder.k)
    arrays = (ids_N.numpy(), encoder.a_K.numpy(), encoder.b_K.numpy())
    scale, shift = np.float32(2 / (HASH_MODULUS - 1)), np.float32(-1)

    def encode() -> Tensor:
        encode_31(*arrays, scale, shift, out_NK.numpy())
        return out_NK

    return encode


def check_equal(outputs: Mapping[str, Tensor]) -> None:
    """All encodings are the first one.

    Raises:
        MeasurementError: one of them is not.
    """
    first = next(iter(outputs.values()))
    for name, output in outputs.items():
        if not torch.allclose(output, first, rtol=0, atol=_TOLERANCE):
            raise MeasurementError(f"{name}: differs by {float((output - first).abs().max()):.2g}")


def alternatives(count: int, *, compiled: bool) -> dict[str, Alternative]:
    """What is timed, on so many ids."""
    ids_N = torch.randint(_FEATURE.cardinality, (count,), generator=torch.Generator().manual_seed(0))
    dhe = DheEmbedding(_FEATURE, _SPEC).eval()
    rivals = encoders(ids_N, dhe.encoder, compiled=compiled)
    check_equal({name: encode() for name, encode in rivals.items()})
    fast = {"encoder", "kernel", "torch_compile"}
    timed = {name: Alternative(call=encode, calls=10 if name in fast else 1) for name, encode in rivals.items()}
    hidden, outputs = _SPEC.layers
    return timed | {
        "gemm_1": Alternative(call=_product(count, *hidden), calls=3),
        "gemm_2": Alternative(call=_product(count, *outputs), calls=10),
        "stack": Alternative(call=lambda: dhe(ids_N), calls=3),
    }


def _product(rows: int, inputs: int, outputs: int) -> Callable[[], Tensor]:
    left, right, out = torch.randn(rows, inputs), torch.randn(outputs, inputs), torch.empty(rows, outputs)
    return lambda: torch.mm(left, right.t(), out=out)


@torch.inference_mode()
def _measure(quick: bool) -> Figures:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        seconds = interleave(alternatives(_IDS, compiled=not quick and _has_compiler()), 20 if quick else 60)
    finally:
        torch.set_num_threads(threads)
    return figures_of(seconds)


def figures_of(seconds: Samples) -> Figures:
    """Times and ratios of what was timed."""
    products = [first + second for first, second in zip(seconds["gemm_1"], seconds["gemm_2"], strict=True)]
    spreads = {
        f"speedup_over_{name}": ratios(values, seconds["encoder"])
        for name, values in seconds.items()
        if name.startswith("torch")
    }
    spreads["share_of_first_gemm"] = ratios(seconds["encoder"], seconds["gemm_1"])
    spreads["stack_over_gemms"] = ratios(seconds["stack"], products)
    return {
        **{name: spread.median for name, spread in spreads.items()},
        "ratios": {name: spread.to_object() for name, spread in spreads.items()},
        "milliseconds": {
            name: spread_of([value * 1e3 for value in values]).to_object() for name, values in seconds.items()
        },
    }


def _has_compiler() -> bool:
    import shutil

    return any(shutil.which(name) for name in ("g++", "clang++"))


def _describe(report: Mapping[str, Any]) -> list[str]:
    times = report["milliseconds"]
    return [
        _INTRODUCTION,
        "## Milliseconds of CPU time per call",
        table(("what", "ms"), [(_LABELS[name], with_quartiles(times[name])) for name in _LABELS if name in times]),
        "## Ratios, round by round",
        table(("ratio", "value"), [(_RATIOS[name], with_quartiles(value)) for name, value in report["ratios"].items()]),
        "## What the figures mean",
        _MEANING,
        "## Remarks",
        _REFERENCE,
    ]


BENCHMARK = Benchmark(name="dhe_encoder", title="Speed of the DHE encoder", measure=_measure, describe=_describe)

if __name__ == "__main__":
    main(BENCHMARK)
