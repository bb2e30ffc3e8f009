"""The DHE encoder beside torch, and a whole DHE beside its matrix products."""

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from profiles.errors import MeasurementError
from representations.dhe.embedding import DheEmbedding, set_streaming
from representations.dhe.encoder import DheEncoder
from representations.dhe.hashing import HASH_MODULUS
from representations.dhe.mish import Mish
from representations.dhe.streaming import block_rows
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
_LARGE = 2**40
_ROWS = block_rows(_SPEC.k)
# Two roundings of a float32 in [-1, 1].
_TOLERANCE = 2.5e-7
_LABELS = {
    "encoder": "encoder, block by block",
    "encoder_whole": "encoder, all ids at once",
    "encoder_large_ids": "encoder of ids up to 2**40, block by block",
    "torch": "encoder in torch, `%` on int64",
    "torch_fallback": "encoder in torch, in place",
    "torch_compile": "encoder in torch, compiled",
    "gemm_1": "first matrix product",
    "gemm_2": "second matrix product",
    "mish": "activation",
    "torch_mish": "activation in torch",
    "stack": "whole DHE, streaming",
    "stack_of_modules": "whole DHE, module by module",
}
_RATIOS = {
    "speedup_over_torch": "torch, `%` on int64, over encoder",
    "speedup_over_torch_fallback": "torch, in place, over encoder",
    "speedup_over_torch_compile": "torch compiled over encoder",
    "speedup_over_torch_all_at_once": "torch, `%` on int64, over encoder of all ids at once",
    "share_of_first_gemm": "encoder over first matrix product",
    "share_of_first_gemm_all_at_once": "encoder of all ids at once over first matrix product",
    "mish_speedup": "activation in torch over activation",
    "stack_over_gemms": "whole DHE, streaming, over both matrix products",
    "modules_over_gemms": "whole DHE, module by module, over both matrix products",
}
# What is aimed at, and the figures that say so of blocks (`set_streaming`, `predict`) and of modules.
_GOALS = (
    ("encoder over torch, `%` on int64: at least 50", "speedup_over_torch", "speedup_over_torch_all_at_once"),
    ("encoder over first matrix product: at most 0.10", "share_of_first_gemm", "share_of_first_gemm_all_at_once"),
    ("whole DHE over its matrix products: at most 1.15", "stack_over_gemms", "modules_over_gemms"),
)
_INTRODUCTION = f"""\
A DHE of {_SPEC.k} hashes, decoded by {_SPEC.k}-{_SPEC.widths[0]}-{_SPEC.dim} with Mish, on {_IDS:,} ids of
{_FEATURE.cardinality:,}: the 26 features of a batch of 128. One thread, float32. Figures are medians over rounds with
quartiles in brackets; the alternatives take turns within a round. The encoders' outputs are compared first."""
_MEANING = f"""\
- **encoder, block by block**: ids to scaled hashes by the project's compiled kernel, {_ROWS} ids at a time into
  memory that each block overwrites, as a streaming DHE calls it: what hashing costs a DHE.
- *all ids at once*: the encoder called as a module, with an output of 13.6 MB that goes to memory and back.
- **torch, `%` on int64**: the formula as it stands, in plain tensor operations; the base of `speedup_over_torch`.
- **torch, in place**: the project's own fallback for tensors that the kernel cannot take; *compiled* is the `%`
  formula under `torch.compile`, in full runs where a C++ compiler is.
- **first, second matrix product**: `torch.mm` into a given output, without bias, of all ids at once.
- **whole DHE**: ids to embeddings, *streaming* (`set_streaming`: blocks of encodings go into the first product at
  once, which then runs from the cache) or *module by module* (encoder, then decoder, as planned and profiled).
  `predict` streams; a model that is profiled or served streams once it is told to.
  `stack_over_gemms` says how much hashing, biases, activation and allocation add to the products that no decoder of
  this shape can do without; below 1, reading from the cache saves more than all of these cost."""

_REFERENCE = """\
- Reference: on a processor with AVX-512 an earlier kernel (one product of 64 bits per lane) took 0.51 ms, torch's
  int64 arithmetic 38.8 ms (76 times as much), the first matrix product 8.7 ms (the encoder 6 % of it).
- On AVX2 that kernel took 3.0 ms where the one of today takes 1.0 to 1.3 ms: eight hashes of 32 bits per vector
  instead of four of 64, a 16-bit product for the quotient by 1,000,000 instead of two of 32 bits, and three rows side
  by side, as one row alone waits for the results of its own multiplications.
- Tried and left: letting the compiler vectorise the 32-bit formula (2.0 ms: two permutations per vector); quotients in
  float32 (1.06 against 0.94 ms); shifts and adds in torch (80 ms against 28 ms in place). Not built: tables of partial
  hashes per byte of the id, whose three loads and two additions per hash need 3 MB per feature, six decoders' worth.
- Why 50 times torch is out of reach on AVX2: eight hashes take 20 vector instructions (two products, two additions and
  two shuffles to the halves; three to their sum; two, six and three for both moduli and the scale), of which a
  processor with four vector units can do four per clock and this one did 2.8: 7 clocks, 1.0 ms at 3.06 GHz, where
  torch took 32 to 43 ms. At four per clock it would be 0.7 ms. Written to a row that stays in the first cache: 6.7
  clocks, so memory is not what it waits for.
- Tried against the other two clocks, in C++ with intrinsics and by gcc: one to six rows side by side (7.3 to 7.8
  clocks), scale and shift as one instruction (6.7 to 7.3; the last bit then differs from torch's), the quotient as the
  nearest whole float32 (7.8), the quotient by `pmaddwd` (7.0), blocks of columns at two and at three stages at a time
  (5.9 and 5.6 with four rows). The last is the best, but LLVM, which compiles this project's kernel, spills it to an
  unaligned stack: 1.02 ms before, 0.94 to 2.8 ms after, 1.16 against 1.12 ms without the fused instruction; left.
- Of a streaming call's 1.4 ms, 0.2 ms were views of memory made anew for each of its 26 blocks; they are made once now,
  which the figures above do not show unless their revision is later."""


def encoders(ids_N: Tensor, encoder: DheEncoder, *, compiled: bool) -> dict[str, Callable[[], Tensor]]:
    """The encoder and its rivals."""
    arguments = (ids_N, encoder.a_K, encoder.b_K, encoder.prime, HASH_MODULUS)
    found: dict[str, Callable[[], Tensor]] = {
        "encoder_whole": lambda: encoder(ids_N),
        "torch": lambda: torch_hashing.encode(*arguments),
        "torch_fallback": lambda: encoder._in_torch(ids_N),
    }
    if compiled:
        fused = torch.compile(torch_hashing.encode)
        found["torch_compile"] = lambda: fused(*arguments)
    return found


def block_by_block(encoder: DheEncoder, ids_N: Tensor) -> Callable[[], object]:
    """Encodes every block and drops it."""
    return lambda: deque(encoder.blocks(ids_N, block_rows(encoder.k)), maxlen=0)


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
    generator = torch.Generator().manual_seed(0)
    ids_N = torch.randint(_FEATURE.cardinality, (count,), generator=generator)
    large_N = torch.randint(_LARGE, (count,), generator=generator)
    dhe = DheEmbedding(_FEATURE, _SPEC).eval()
    streaming = DheEmbedding(_FEATURE, _SPEC).eval()
    set_streaming(streaming, enabled=True)
    rivals = encoders(ids_N, dhe.encoder, compiled=compiled)
    blocks = torch.cat([block.clone() for block in dhe.encoder.blocks(ids_N, _ROWS)])
    check_equal({name: encode() for name, encode in rivals.items()} | {"encoder": blocks})
    fast = {"encoder_whole", "torch_compile"}
    timed = {name: Alternative(call=encode, calls=10 if name in fast else 1) for name, encode in rivals.items()}
    hidden, outputs = _SPEC.layers
    activations = torch.randn(count, hidden[1], generator=generator)
    large = DheEncoder(_SPEC.k, _LARGE)
    return timed | {
        "encoder": Alternative(call=block_by_block(dhe.encoder, ids_N), calls=10),
        "encoder_large_ids": Alternative(call=block_by_block(large, large_N), calls=3),
        "gemm_1": Alternative(call=_product(count, *hidden), calls=3),
        "gemm_2": Alternative(call=_product(count, *outputs), calls=10),
        "mish": Alternative(call=partial(Mish(), activations), calls=10),
        "torch_mish": Alternative(call=partial(nn.Mish(), activations), calls=3),
        "stack": Alternative(call=lambda: streaming(ids_N), calls=3),
        "stack_of_modules": Alternative(call=lambda: dhe(ids_N), calls=3),
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
    encoders = [name for name in ("torch", "torch_fallback", "torch_compile") if name in seconds]
    spreads = {f"speedup_over_{name}": ratios(seconds[name], seconds["encoder"]) for name in encoders}
    spreads["speedup_over_torch_all_at_once"] = ratios(seconds["torch"], seconds["encoder_whole"])
    spreads["share_of_first_gemm"] = ratios(seconds["encoder"], seconds["gemm_1"])
    spreads["share_of_first_gemm_all_at_once"] = ratios(seconds["encoder_whole"], seconds["gemm_1"])
    spreads["mish_speedup"] = ratios(seconds["torch_mish"], seconds["mish"])
    spreads["stack_over_gemms"] = ratios(seconds["stack"], products)
    spreads["modules_over_gemms"] = ratios(seconds["stack_of_modules"], products)
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
        "## Goals",
        table(
            ("goal", "streaming, block by block", "module by module"),
            [(goal, *(with_quartiles(report["ratios"][name]) for name in names)) for goal, *names in _GOALS],
        ),
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
