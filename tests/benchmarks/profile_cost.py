"""What a whole profile costs, in forward passes of the model, and what watching calls adds to a pass."""

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.profiler import ProfilerActivity
from torch.profiler import profile as torch_profile

from profiles.model_profile import ModelProfile
from profiles.profile_options import ProfileOptions
from profiles.providers import InputBatch, Target, find_target
from profiles.units import NS_PER_MS
from profiles.walk import profile_target
from profiles.walk.in_situ import InSituTimes
from profiles.walk.interval import interval_share
from profiles.walk.model_passes import ModelPasses
from profiles.walk.tree import module_tree
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.markdown import percent, significant, table, with_quartiles
from tests.benchmarks.timing import Alternative, interleave, ratios, spread_of
from tests.benchmarks.watching_cost import paired_overhead

__all__ = ["BENCHMARK", "figures_of"]

_MODELS = {"nanogpt": "nanogpt", "dlrm": "dlrm-bench"}
_MOST_FORWARDS = {"nanogpt": 45, "dlrm": 150}
_WANTED_INTERVAL = 0.05
# Plain passes before and after the profile; pairs of a watched and a plain pass.
_PASSES = {"nanogpt": 4, "dlrm": 40}
_PAIRS = {"nanogpt": 10, "dlrm": 150}
# Blocks of two watched and two plain passes, in full and when quick.
_BLOCKS = {"nanogpt": (8, 1), "nanogpt_short": (60, 4), "dlrm": (150, 10)}
_SHORT_TOKENS = 16
# Sequences and tokens of nanogpt.
_SHAPES = {False: (2, 128), True: (1, 16)}
_WATCHED = {
    "nanogpt": "nanogpt, {sequences} x {tokens} tokens",
    "nanogpt_short": f"nanogpt, 1 x {_SHORT_TOKENS} tokens",
    "dlrm": "dlrm-bench, batch 256",
}
_RIVALS = {"watched": "recplan", "hooks": "a clock in forward hooks", "torch_profiler": "`torch.profiler`"}
_INTRODUCTION = """\
`recplan profile` runs every module alone on its captured inputs, with warm and with cold caches, and times it inside
the model. One thread, float32, default options: `nanogpt` is GPT-2 small at {sequences} x {tokens} tokens,
`dlrm-bench` a DLRM of 26 bags at a batch of 256. Costs are CPU time of the process; a *forward* is the median of plain
passes before and after the profile, in this run."""
_MEANING = """\
- **forwards**: CPU time of the whole profile, capture included, over that of one forward. Goals: at most 45 for
  nanogpt, 150 for dlrm-bench.
- **capture**: the pass that clones the inputs of every call and counts FLOPs and bytes; nothing is timed in it.
- **interval**: half the 95 % interval of a module's median warm latency, as a share of it; the goal is 5 % for the
  median module. Modules are visited again until they have it, or the budget (a third of the first visits) is used up.
- **watching calls**: how much longer a pass takes in which every module's call is timed; the goal is below 2 %. It is
  the median over blocks of two watched and two plain passes in the order plain, watched, watched, plain (every other
  block the other way round), by CPU time, with the 95 % interval of that median from the blocks' ranks. The cost of a
  call does not depend on its work: at fewer tokens it is a greater share.
- **fastest passes**: the same by the fastest pass of either kind, as profiles tell it of themselves (`hook_overhead`)
  from the passes that they make anyway; few passes, so that it scatters."""

_NOISE = """\
Three bare timings of one matrix product ({bare} ms), as far apart, had an interval of {interval} in this run: what the
machine gives, whoever measures."""


def figures_of(profile: ModelProfile, cpu_s: float, forward_cpu_s: Sequence[float]) -> Figures:
    """Costs and quality of one profile; `forward_cpu_s` are plain passes."""
    forward_s = statistics.median(forward_cpu_s)
    alone = [row for row in profile.modules if row.warm is not None]
    intervals = [share for row in alone if (share := row.figures.get("interval_share")) is not None]
    return {
        "forwards": cpu_s / forward_s,
        "forward_ms": spread_of([1e3 * value for value in forward_cpu_s]).to_object(),
        "profile_cpu_s": cpu_s,
        "capture_seconds": profile.costs["capture_seconds"],
        "modules": len(profile.modules),
        "run_alone": len(alone),
        "median_interval": statistics.median(intervals),
        "within_interval": sum(share <= _WANTED_INTERVAL for share in intervals) / len(intervals),
    }


def _cost_of(target: Target, passes: int, budget_s: float | None = None) -> Figures:
    options = ProfileOptions(threads=1, cold=True, budget_s=budget_s)
    forward = _forward(target)
    forward()
    before = [_cpu_s(forward) for _ in range(passes)]
    profiles: list[ModelProfile] = []
    cpu_s = _cpu_s(lambda: profiles.append(profile_target(target, options=options)))
    after = [_cpu_s(forward) for _ in range(passes)]
    return figures_of(profiles[0], cpu_s, before + after)


def _overhead_of(target: Target, pairs: int) -> float:
    """By the fastest passes."""
    times = InSituTimes(ModelPasses(module_tree(target.model), target.model, target.batches, "cpu", [torch.no_grad]))
    for _ in range(0, pairs, 5):
        times.visit(min(5, pairs))
    return times.overhead


def watching_us(modules: int = 2000) -> float:
    """What timing one call costs, on modules that do nothing else: microseconds."""
    model, input_1 = nn.Sequential(*(nn.Identity() for _ in range(modules))), torch.ones(1)
    batches = (InputBatch(args=(input_1,)),)
    times = InSituTimes(ModelPasses(module_tree(model), model, batches, "cpu", [torch.no_grad]))
    for _ in range(6):
        times.visit(5)
    with torch.no_grad():
        plain_s = min(_cpu_s(lambda: model(input_1)) for _ in range(30))
    return times.overhead * plain_s / modules * 1e6


def _rivals(target: Target, rounds: int) -> Figures:
    """Passes under other tools over plain ones, round by round."""
    forward = _forward(target)
    timed = {
        "plain": Alternative(call=forward),
        "hooks": Alternative(call=partial(_under_hooks, target.model, forward)),
        "torch_profiler": Alternative(call=partial(_under_torch_profiler, forward)),
    }
    seconds = interleave(timed, rounds)
    return {name: ratios(seconds[name], seconds["plain"]).to_object() for name in ("hooks", "torch_profiler")}


def _under_hooks(model: nn.Module, forward: Callable[[], object]) -> None:
    stamps: list[int] = []

    def before(module: nn.Module, args: object) -> None:
        del module, args
        stamps.append(time.perf_counter_ns())

    def after(module: nn.Module, args: object, output: object) -> None:
        del module, args, output
        stamps.append(time.perf_counter_ns())

    handles = [
        handle
        for module in model.modules()
        for handle in (module.register_forward_pre_hook(before), module.register_forward_hook(after))
    ]
    forward()
    for handle in handles:
        handle.remove()


def _under_torch_profiler(forward: Callable[[], object]) -> None:
    # Each session writes two lines to stderr otherwise.
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    with torch_profile(activities=[ProfilerActivity.CPU], with_modules=True):
        forward()


def bare_interval(times_ms: Sequence[float], visits: int = 3) -> float:
    """The median interval of `visits` timings that lie apart, without a profiler around: the noise of the machine."""
    apart = len(times_ms) // visits
    shares = [interval_share(times_ms[start::apart][:visits]) for start in range(apart)]
    return statistics.median(share for share in shares if share is not None)


def _bare_ms(calls: int) -> list[float]:
    """Wall milliseconds of one matrix product, nanogpt's largest in a block."""
    layer, input_BF = nn.Linear(768, 3072), torch.randn(256, 768)
    found = []
    with torch.no_grad():
        layer(input_BF)
        for _ in range(calls):
            start_ns = time.perf_counter_ns()
            layer(input_BF)
            found.append((time.perf_counter_ns() - start_ns) / NS_PER_MS)
    return found


def _forward(target: Target) -> Callable[[], object]:
    def forward() -> object:
        with torch.no_grad():
            return target.model(*target.args, **target.kwargs)

    return forward


def _cpu_s(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def _measure(quick: bool) -> Figures:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    models: dict[str, Figures] = {}
    watched: dict[str, Figures] = {}
    bare_ms = []
    try:
        for name, known_as in _MODELS.items():
            target = find_target(known_as)
            if name == "nanogpt":
                target = _cut(target, *_SHAPES[quick])
            models[name] = _cost_of(target, _PASSES[name] // (2 if quick else 1), 0.0 if quick else None)
            bare_ms += _bare_ms(30)
            models[name]["fastest_overhead"] = _overhead_of(target, _PAIRS[name] // (5 if quick else 1))
            watched[name] = paired_overhead(target, _BLOCKS[name][quick])
        watched["nanogpt_short"] = paired_overhead(
            _cut(find_target("nanogpt"), 1, _SHORT_TOKENS), _BLOCKS["nanogpt_short"][quick]
        )
        rivals = _rivals(target, 10 if quick else 40)
    finally:
        torch.set_num_threads(threads)
    return {
        "nanogpt_forwards": models["nanogpt"]["forwards"],
        "dlrm_forwards": models["dlrm"]["forwards"],
        "hook_overhead": max(one["overhead"] for one in watched.values()),
        "bare_ms": spread_of(bare_ms).to_object(),
        "bare_interval": bare_interval(bare_ms),
        "watching_us": watching_us(),
        "nanogpt_shape": dict(zip(("sequences", "tokens"), _SHAPES[quick], strict=True)),
        "models": models,
        "watched": watched,
        "rivals": rivals,
    }


def _cut(target: Target, sequences: int, tokens: int) -> Target:
    ids_BT = target.args[0][:sequences, :tokens]
    return replace(target, batches=(InputBatch(args=(ids_BT,)),))


def _watched_rows(report: Mapping[str, Any]) -> list[tuple[str, ...]]:
    fastest = {name: one["fastest_overhead"] for name, one in report["models"].items()}
    return [
        (
            _WATCHED[name].format(**report["nanogpt_shape"]),
            f"{one['overhead']:.2%}",
            f"{one['low']:.2%} to {one['high']:.2%}",
            str(one["blocks"]),
            percent(fastest[name]) if name in fastest else "",
        )
        for name, one in report["watched"].items()
    ]


def _describe(report: Mapping[str, Any]) -> list[str]:
    models, rivals = report["models"], report["rivals"]
    columns = ("model", "forward, ms", "profile, forwards", "goal", "capture, s", "run alone", "median interval",
               "within 5 %")  # fmt: skip
    rows = [
        (
            _MODELS[name],
            with_quartiles(one["forward_ms"]),
            significant(one["forwards"]),
            f"{_MOST_FORWARDS[name]}",
            significant(one["capture_seconds"]),
            f"{one['run_alone']} of {one['modules']}",
            percent(one["median_interval"]),
            percent(one["within_interval"]),
        )
        for name, one in models.items()
    ]
    watched = 1 + report["watched"]["dlrm"]["overhead"]
    others = [(_RIVALS[name], with_quartiles(spread)) for name, spread in rivals.items()]
    return [
        _INTRODUCTION.format(**report["nanogpt_shape"]),
        "## Costs",
        table(columns, rows),
        _NOISE.format(bare=with_quartiles(report["bare_ms"]), interval=percent(report["bare_interval"])),
        f"Watching one call costs {significant(report['watching_us'])} µs, taken on modules that do nothing else.",
        "## Watching calls",
        table(("model", "watching calls", "95 % interval", "blocks", "fastest passes"), _watched_rows(report)),
        "## A pass of dlrm-bench under each tool, over a plain pass",
        table(("tool", "CPU time"), [(_RIVALS["watched"], significant(watched)), *others]),
        "## What the figures mean",
        _MEANING,
    ]


BENCHMARK = Benchmark(name="profile_cost", title="What a profile costs", measure=_measure, describe=_describe)

if __name__ == "__main__":
    main(BENCHMARK)
