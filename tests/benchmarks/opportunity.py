"""Opportunity sizing: what compiling submodules is predicted to gain an iteration, beside what it gains."""

from collections.abc import Mapping
from typing import Any

import torch

from profiles.analyses import size_opportunity
from profiles.measure import thread_count
from profiles.models import NanoGptConfig, build_nanogpt
from profiles.providers import InputBatch, Target
from profiles.records import Latency
from profiles.timing import TimingOptions
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.markdown import significant, table

__all__ = ["BENCHMARK"]

_FULL = NanoGptConfig(layers=6, heads=8, width=512, block=256, vocabulary=8192, dropout=0.0)
_QUICK = NanoGptConfig(layers=2, heads=4, width=128, block=128, vocabulary=1024, dropout=0.0)
_TIMING = TimingOptions(visits=7, seconds_per_visit=0.5)
_QUICK_TIMING = TimingOptions(visits=3, seconds_per_visit=0.05)
_INTRODUCTION = """\
A decoder-only transformer ({layers} blocks of width {width}, {vocabulary} tokens known, {samples} x {tokens} tokens,
float32, one thread) runs eagerly; then `torch.compile` is applied to one feed-forward part, to every block, and to the
model as a whole. `size_opportunity` times each module alone, eager and compiled, scales its gain by how much longer it
takes in the model than alone, and adds up; beside that stands what an iteration of the whole model gained when exactly
these modules were compiled in it. All versions are timed in turn."""
_MEANING = """\
- An *iteration* is a forward pass, or a forward and a backward pass with gradients of all parameters.
- **eager, compiled**: 25th percentile of the whole model's iteration, with the spread (IQR) of its visits.
- **predicted, measured**: milliseconds gained per iteration; negative where it becomes slower.
- A measured gain that is less than the spread of the model's latencies is noise."""


def _target(config: NanoGptConfig, samples: int, tokens: int) -> Target:
    ids_BT = torch.randint(config.vocabulary, (samples, tokens), generator=torch.Generator().manual_seed(0))
    return Target(name="transformer", model=build_nanogpt(config), batches=(InputBatch(args=(ids_BT,)),))


def _choices(config: NanoGptConfig) -> Mapping[str, tuple[str, ...]]:
    return {
        "one feed-forward part": ("blocks.0.mlp",),
        "all blocks": tuple(f"blocks.{place}" for place in range(config.layers)),
        "the whole model": ("",),
    }


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
    config, samples, tokens = (_QUICK, 2, 32) if quick else (_FULL, 4, 128)
    timing = _QUICK_TIMING if quick else _TIMING
    target = _target(config, samples, tokens)
    target.model.eval()
    with thread_count(1):
        cases = {
            f"{'forward and backward' if backward else 'forward'}, {choice}": _case(
                target, paths, timing, backward=backward
            )
            for backward in (False, True)
            for choice, paths in _choices(config).items()
        }
    shape = {"layers": config.layers, "width": config.width, "vocabulary": config.vocabulary}
    return {"shape": {**shape, "samples": samples, "tokens": tokens}, "cases": cases}


def _describe(report: Mapping[str, Any]) -> list[str]:
    columns = ("iteration, compiled", "modules", "eager, ms", "compiled, ms", "predicted gain, ms", "measured gain, ms",
               "predicted speedup", "measured speedup")  # fmt: skip
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
        _INTRODUCTION.format(**report["shape"]),
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
