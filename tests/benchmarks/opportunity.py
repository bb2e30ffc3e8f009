"""Opportunity sizing: what compiling submodules is predicted to gain an iteration, beside what it gains."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch

from profiles.analyses import size_opportunity
from profiles.measure import thread_count
from profiles.models import NanoGptConfig, build_nanogpt
from profiles.providers import InputBatch, Target, find_target
from profiles.records import Latency
from profiles.timing import TimingOptions
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.markdown import significant, table

__all__ = ["BENCHMARK"]

# Small, since each distinct module and pass costs seconds of compilation.
_TRANSFORMER = NanoGptConfig(layers=2, heads=4, width=256, block=128, vocabulary=4096, dropout=0.0)
_SAMPLES, _TOKENS = 2, 128
_TIMING = TimingOptions(visits=5, seconds_per_visit=0.15)
_QUICK_TIMING = TimingOptions(visits=3, seconds_per_visit=0.05)
_INTRODUCTION = f"""\
A decoder-only transformer ({_TRANSFORMER.layers} blocks of width {_TRANSFORMER.width}, {_TRANSFORMER.vocabulary:,}
tokens known, {_SAMPLES} x {_TOKENS} tokens) and `dlrm-bench` (26 bags, batch 256) run eagerly, in float32 on one
thread; then `torch.compile` is applied to one part, to several, and to the model as a whole. `size_opportunity` times
each module alone, eager and compiled, scales its gain by how much longer it takes in the model than alone, and adds
up; beside that stands what an iteration of the whole model gained when exactly these modules were compiled in it. All
versions are timed in turn."""
_MEANING = """\
- An *iteration* is a forward pass, or a forward and a backward pass with gradients of all parameters.
- **eager, compiled**: 25th percentile of the whole model's iteration, with the spread (IQR) of its visits.
- **predicted, measured**: milliseconds gained per iteration; negative where it becomes slower.
- A measured gain that is less than the spread of the model's latencies is noise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Study:
    """A model, and the modules that are compiled in it together, by what they are called."""

    target: Target
    choices: Mapping[str, tuple[str, ...]]


def _transformer() -> _Study:
    generator = torch.Generator().manual_seed(0)
    ids_BT = torch.randint(_TRANSFORMER.vocabulary, (_SAMPLES, _TOKENS), generator=generator)
    model = build_nanogpt(_TRANSFORMER)
    return _Study(
        target=Target(name="transformer", model=model, batches=(InputBatch(args=(ids_BT,)),)),
        choices={
            "one feed-forward part": ("blocks.0.mlp",),
            "all blocks": tuple(f"blocks.{place}" for place in range(_TRANSFORMER.layers)),
            "the whole model": ("",),
        },
    )


def _dlrm() -> _Study:
    return _Study(
        target=find_target("dlrm-bench"),
        choices={
            "the top MLP": ("top_mlp",),
            "both MLPs and the interaction": ("bottom_mlp", "interaction", "top_mlp"),
            "the whole model": ("",),
        },
    )


def _quick_dlrm() -> _Study:
    return _Study(target=find_target("dlrm-bench"), choices={"the top MLP": ("top_mlp",)})


def _case(target: Target, paths: tuple[str, ...], timing: TimingOptions, *, backward: bool) -> Figures:
    found = size_opportunity(target, paths, backward=backward, timing=timing)
    return {
        "modules": len(paths),
        "eager_ms": _latency(found.model_before),
        "compiled_ms": _latency(found.model_after),
        "predicted_gain_ms": found.predicted_gain_ms,
        "measured_gain_ms": found.measured_gain_ms,
        "predicted_speedup": found.predicted_speedup,
        "measured_speedup": found.measured_speedup,
    }


def _latency(latency: Latency) -> Mapping[str, float]:
    return {"p25": latency.p25_ms, "iqr": latency.iqr_ms}


def _measure(quick: bool) -> Figures:
    studies = [_quick_dlrm()] if quick else [_transformer(), _dlrm()]
    timing = _QUICK_TIMING if quick else _TIMING
    cases: dict[str, Figures] = {}
    with thread_count(1):
        for study, backward in product(studies, (False,) if quick else (False, True)):
            study.target.model.eval()
            iteration = "forward and backward" if backward else "forward"
            for choice, paths in study.choices.items():
                case = _case(study.target, paths, timing, backward=backward)
                cases[f"{study.target.name}, {iteration}, {choice}"] = case
    return {"cases": cases}


def _describe(report: Mapping[str, Any]) -> list[str]:
    columns = ("model, iteration, compiled", "modules", "eager, ms", "compiled, ms", "predicted gain, ms",
               "measured gain, ms", "predicted speedup", "measured speedup")  # fmt: skip
    rows = [
        (
            name,
            str(case["modules"]),
            _with_spread(case["eager_ms"]),
            _with_spread(case["compiled_ms"]),
            _signed(case["predicted_gain_ms"]),
            _signed(case["measured_gain_ms"]),
            "all of it" if case["predicted_speedup"] is None else f"{case['predicted_speedup']:.2f}",
            f"{case['measured_speedup']:.2f}",
        )
        for name, case in report["cases"].items()
    ]
    return [
        _INTRODUCTION,
        "## Gain per iteration",
        table(columns, rows),
        "## What the figures mean",
        _MEANING,
    ]


def _with_spread(latency: Mapping[str, float]) -> str:
    return f"{significant(latency['p25'])} ± {significant(latency['iqr'], 2)}"


def _signed(value: float) -> str:
    return f"{'−' if value < 0 else ''}{significant(abs(value))}"


BENCHMARK = Benchmark(name="opportunity", title="Opportunity sizing", measure=_measure, describe=_describe)

if __name__ == "__main__":
    main(BENCHMARK)
