"""What watching calls adds to a pass of a model, from many short comparisons."""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from statistics import median
from typing import Any

import torch

from profiles.providers import Target
from profiles.timing import gc_paused
from profiles.walk.tracing import Trace, call_log
from profiles.walk.tree import ModuleNode, module_tree
from tests.benchmarks.benchmark import Figures

__all__ = ["median_interval", "paired_overhead"]

_NORMAL_95 = 1.96


def paired_overhead(target: Target, blocks: int) -> Figures:
    """Median over the blocks of how much more CPU time watched passes take, with its interval.

    A block is plain, watched, watched, plain, every other one the other way round, so that a drift of the machine meets
    both alike; its ratio is of the sums. Putting the watch on and off the model is not part of a pass.
    """
    nodes = module_tree(target.model)
    _pass_s(target, nodes, is_watched=True)
    ratios = []
    for block in range(blocks):
        order = (False, True, True, False) if block % 2 == 0 else (True, False, False, True)
        seconds = {False: 0.0, True: 0.0}
        for is_watched in order:
            seconds[is_watched] += _pass_s(target, nodes, is_watched=is_watched)
        ratios.append(seconds[True] / seconds[False] - 1)
    low, high = median_interval(ratios)
    return {"overhead": median(ratios), "low": low, "high": high, "blocks": blocks}


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of a median, from the values' ranks; of fewer than six values the range, which is narrower."""
    ranked, count = sorted(values), len(values)
    half = _NORMAL_95 * math.sqrt(count) / 2
    first = max(math.floor(count / 2 - half), 0)
    return ranked[first], ranked[count - 1 - first]


def _pass_s(target: Target, nodes: Sequence[ModuleNode], *, is_watched: bool) -> float:
    meter: Callable[[], int] = time.perf_counter_ns
    watching = call_log(nodes, meter) if is_watched else nullcontext(Trace[Any]())
    with watching, torch.no_grad(), gc_paused():
        start = time.process_time()
        target.model(*target.args, **target.kwargs)
        return time.process_time() - start
