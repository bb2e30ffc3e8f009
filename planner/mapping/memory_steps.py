"""What would fit if a device had more memory: how much more, and for what gain."""

from dataclasses import dataclass

from planner.mapping.exact import FluidMapping, best_mapping, least_memory_bytes
from planner.mapping.fluid_program import FluidProgram

__all__ = ["MemoryStep", "memory_steps"]

_MOST_STEPS = 3
_LEAST_GAIN = 1e-3


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryStep:
    """A device with `extra_bytes` more than it has: what the best mapping then puts there, and what it could serve.

    `gain` is over the best mapping within the budgets as they are, as a share of that one's.
    """

    device: str
    memory_bytes: int
    extra_bytes: int
    candidates: tuple[str, ...]
    correct_per_s: float
    gain: float


def memory_steps(
    program: FluidProgram,
    device: str,
    best: FluidMapping,
    *,
    most: int = _MOST_STEPS,
    least_gain: float = _LEAST_GAIN,
) -> tuple[MemoryStep, ...]:
    """The least memory for each further `least_gain` (a share of what `best` serves) or more, at most so many steps.

    `best` is the best mapping within the budgets. Other devices keep theirs.

    Raises:
        UnknownNameError: a device that is not there.
    """
    here = program.device_index(device)
    budget = int(program.memory_bytes_D[here])
    steps: list[MemoryStep] = []
    reached = best.correct_per_s
    while len(steps) < most:
        needed = least_memory_bytes(program, device, reached + least_gain * best.correct_per_s)
        if needed is None or needed <= budget:
            break
        mapping = best_mapping(program, {device: needed})
        reached = mapping.correct_per_s
        steps.append(
            MemoryStep(
                device=device,
                memory_bytes=needed,
                extra_bytes=needed - budget,
                candidates=mapping.chosen[device],
                correct_per_s=reached,
                gain=reached / best.correct_per_s - 1,
            )
        )
    return tuple(steps)
