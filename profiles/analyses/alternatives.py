"""Time several versions of modules in turn, so that what disturbs one disturbs all."""

from collections.abc import Callable, Collection, Sequence

from profiles.analyses.replacement import module_at
from profiles.errors import InputError, MeasurementError
from profiles.profilers.replay import Replay
from profiles.providers.target import Target
from profiles.records import Latency
from profiles.timing import TimingOptions, clock_for
from profiles.walk.capture import CapturedCall, observe
from profiles.walk.current_device import device_of, on_device
from profiles.walk.isolation import IsolatedRun, Timed, forward_of
from profiles.walk.preservation import preserved
from profiles.walk.subject import Subject
from profiles.walk.tree import module_tree

__all__ = ["subjects_at", "time_in_turn"]


def subjects_at(target: Target, paths: Collection[str], *, backward: bool = False) -> dict[str, Subject]:
    """The modules at these paths with the calls that one pass over the target's batches makes of them.

    With `backward` an iteration is meant: gradients are recorded, and the subjects' phase is the backward one.

    Raises:
        InputError: there is no module at a path.
        MeasurementError: a module is never called, or raises.
    """
    model = target.model
    for path in paths:
        module_at(model, path)
    nodes = module_tree(model)
    torch_name = device_of(target)
    with preserved(model) as held:
        observed = observe(model, nodes, target.batches, is_grad=backward, held=held)
    found: dict[str, Subject] = {}
    for node in nodes:
        for path in {node.path, *node.aliases} & set(paths):
            seen = observed[node.index]
            if seen.failure or not seen.calls:
                raise MeasurementError(f"{path or 'the model'}: {seen.failure or 'is never called'}")
            found[path] = Subject(
                path=path,
                module=node.module,
                original=node.module,
                calls=tuple(seen.calls),
                torch_name=torch_name,
                phase="backward" if backward else "forward",
            )
    return {path: found[path] for path in paths}


def time_in_turn(
    subjects: Sequence[Subject], timing: TimingOptions | None = None, before_round: Callable[[], None] | None = None
) -> list[Latency]:
    """What one pass makes of each subject: its calls, or where the phase is the backward one, forward and backward.

    The modules are run as they are; what that changes in them is the caller's to put back. `before_round` runs before
    each round of visits.

    Raises:
        InputError: there is nothing to time.
        MeasurementError: a module raises.
    """
    if not subjects:
        raise InputError("timing: must have at least one module, but got none")
    timing = timing or TimingOptions()
    with on_device(subjects[0].torch_name):
        runs = [
            IsolatedRun(subject=subject, clock=clock_for(subject.torch_name), timing=timing, ready=_ready)
            for subject in subjects
        ]
        for place in range(timing.visits):
            if before_round:
                before_round()
            # Every other round backwards, so that none always comes after the same one.
            for run in runs if place % 2 == 0 else reversed(runs):
                run.visit()
                if run.failure:
                    raise MeasurementError(f"{run.subject.path or 'the model'}: {run.failure}")
    return [_latency(run) for run in runs]


def _latency(run: IsolatedRun) -> Latency:
    latency = run.warm.of_pass()
    if latency is None:
        raise MeasurementError(f"{run.subject.path or 'the model'}: was not timed")
    return latency


def _ready(subject: Subject, call: CapturedCall) -> Timed:
    if subject.phase == "forward":
        return forward_of(subject, call)
    held = [Replay(subject, call)]

    def run() -> object:
        return held[0].run()

    def refresh() -> None:
        held[0] = Replay(subject, call)

    return Timed(run, refresh if call.writes_inputs else None, is_in_context=False)
