"""What changing some submodules would gain the whole model, predicted from them alone, beside what it does gain.

Latencies are compared by their 25th percentile, which a busy machine moves least.
A module alone is faster or slower than in its model; its gain alone is scaled by that before it is taken as a gain of
the model. What the prediction misses shows in the measurement: a change may disturb, or help, what stands around it.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

import torch

from profiles.analyses.alternatives import subjects_at, time_in_turn
from profiles.analyses.replacement import with_replaced
from profiles.errors import InputError, MeasurementError
from profiles.preprocessors.compilation import Compile
from profiles.providers.target import Target
from profiles.records import Latency
from profiles.timing import TimingOptions
from profiles.walk.current_device import device_of, on_device
from profiles.walk.in_situ import InSituTimes
from profiles.walk.model_passes import ModelPasses
from profiles.walk.preservation import preserved
from profiles.walk.subject import Subject
from profiles.walk.tree import ModuleNode, module_tree

__all__ = ["Opportunity", "OpportunityPart", "compiled", "size_opportunity"]

IN_SITU_PASSES = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class OpportunityPart:
    """One module alone, as it is and changed; `in_situ_scale` is how much longer it takes in the model than alone."""

    path: str
    before: Latency
    after: Latency
    in_situ_scale: float

    @property
    def predicted_gain_ms(self) -> float:
        """What an iteration of the model gains by this module; negative where the change makes it slower."""
        return (self.before.p25_ms - self.after.p25_ms) * self.in_situ_scale


@dataclass(frozen=True, kw_only=True, slots=True)
class Opportunity:
    """The modules alone, and the model without and with the change in all of them together, per iteration."""

    parts: tuple[OpportunityPart, ...]
    model_before: Latency
    model_after: Latency
    backward: bool

    @property
    def predicted_gain_ms(self) -> float:
        """The parts' gains together."""
        return sum(part.predicted_gain_ms for part in self.parts)

    @property
    def measured_gain_ms(self) -> float:
        """What the model gained."""
        return self.model_before.p25_ms - self.model_after.p25_ms

    @property
    def predicted_speedup(self) -> float | None:
        """Iterations per time with the change over those without; None where the prediction leaves no time at all."""
        left_ms = self.model_before.p25_ms - self.predicted_gain_ms
        return self.model_before.p25_ms / left_ms if left_ms > 0 else None

    @property
    def measured_speedup(self) -> float:
        """The same, as measured."""
        return self.model_before.p25_ms / self.model_after.p25_ms


def compiled(subject: Subject) -> Subject:
    """The subject's module compiled by `torch.compile` for the shapes of its calls; it has run once for each.

    Raises:
        MeasurementError: there is no compiler, or nothing could be compiled.
    """
    compiler = Compile(whole_model=True)
    compiler.prepare_target(Target(name=subject.path, model=subject.module))
    return compiler.prepare_subject(subject)


def size_opportunity(
    target: Target,
    paths: Sequence[str],
    *,
    change: Callable[[Subject], Subject] = compiled,
    backward: bool = False,
    timing: TimingOptions | None = None,
) -> Opportunity:
    """Change the modules at these paths (`("",)` for the whole model), and time them and the model, all in turn.

    `change` gives a subject whose `module` is the changed one; the target's own modules must stay as they are. With
    `backward` an iteration is a forward and a backward pass, else a forward pass.

    Raises:
        InputError: no path, no module there, or one inside another.
        MeasurementError: a module is never called, or raises, changed or not.
    """
    if not paths:
        raise InputError("opportunity: must have at least one path, but got none")
    model = target.model
    with_replaced(model, {path: torch.nn.Identity() for path in paths})
    subjects = subjects_at(target, dict.fromkeys((*paths, "")), backward=backward)
    whole = subjects[""]
    before = [subjects[path] for path in dict.fromkeys(paths)]
    with on_device(device_of(target)), preserved(model, copies_parameters=backward):
        after = [change(subject) for subject in before]
        changed = with_replaced(model, {subject.path: subject.module for subject in after})
        if all(subject.module is subject.original for subject in after):
            raise MeasurementError("opportunity: the change left every module as it was")
        nodes = module_tree(model)
        context = nullcontext if backward else torch.no_grad
        in_situ = InSituTimes(ModelPasses(nodes, model, target.batches, whole.torch_name, [context]))
        alone = [replace(subject, phase="forward") for subject in before]
        versions = [*before, *after, *alone, whole, replace(whole, module=changed)]
        timed = time_in_turn(versions, timing, lambda: in_situ.visit(IN_SITU_PASSES))
    size = len(before)
    scales = [_scale(in_situ, nodes, subject, timed[2 * size + i]) for i, subject in enumerate(before)]
    return Opportunity(
        parts=tuple(
            OpportunityPart(path=subject.path, before=timed[i], after=timed[size + i], in_situ_scale=scales[i])
            for i, subject in enumerate(before)
        ),
        model_before=timed[-2],
        model_after=timed[-1],
        backward=backward,
    )


def _scale(in_situ: InSituTimes, nodes: Sequence[ModuleNode], subject: Subject, alone: Latency) -> float:
    """Of the forward pass, which is timed in both ways."""
    index = next(node.index for node in nodes if subject.path in (node.path, *node.aliases))
    inside = in_situ.inclusive(index)
    return inside.p25_ms / alone.p25_ms if inside and alone.p25_ms else 1.0
