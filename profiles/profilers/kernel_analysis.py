"""Profiled passes of a whole model: they tell which kernels run under each of its modules, and for how long.

On a CPU a kernel is an operator without those that it calls. The profiler slows every operator by about a microsecond,
so that these times are for shares, not for latencies.
"""

from contextlib import ExitStack

import torch

from profiles.profilers.attribution import BACKWARD_RANGE
from profiles.profilers.kernel_sums import KernelAnalysis, KernelSums
from profiles.profilers.ranges import module_ranges
from profiles.profilers.replay import Replay
from profiles.profilers.session import profiler_session, recorded_events
from profiles.walk.subject import Subject
from profiles.walk.tree import module_tree

__all__ = ["analyse"]


def analyse(subject: Subject, passes: int = 3) -> KernelAnalysis:
    """Profile passes of a model, after one that is not; of the backward phase without the forward pass before it."""
    nodes = module_tree(subject.module)
    sums = KernelSums(nodes, passes=passes, phase=subject.phase, torch_name=subject.torch_name)
    for call in subject.calls:
        Replay(subject, call).run()
        replays = [Replay(subject, call) for _ in range(passes)]
        with ExitStack() as stack:
            stack.enter_context(module_ranges(nodes))
            session = stack.enter_context(profiler_session(subject.torch_name))
            for replay in replays:
                output = replay.forward()
                if subject.phase == "backward":
                    with torch.profiler.record_function(BACKWARD_RANGE):
                        replay.backward(output)
        sums.add(recorded_events(session), call.count * call.weight)
    return sums.analysis()
