"""Whether two versions of a module, or of a whole model, compute the same: errors on the same inputs, and a verdict.

A version may add up in another order, so that equality bit by bit is not asked for. The error of a sum of n terms of
either sign grows as sqrt(n) times the unit roundoff (Higham and Mary, A New Approach to Probabilistic Rounding Error
Analysis, 2019); n is taken to be the longest reduction in the module, and errors are relative to the size of the
output, not of its smallest element.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from profiles.errors import InputError
from profiles.nested import tensors_of
from profiles.providers.target import InputBatch
from profiles.walk.capture import clone_inputs
from profiles.walk.preservation import preserved
from profiles.walk.subject import Subject
from profiles.walk.tracing import tracing
from profiles.walk.tree import module_tree

__all__ = ["ModuleComparison", "NumericComparison", "OutputError", "compare_models", "compare_modules", "tolerance_for"]

# How many times the expected error passes: the two versions both have it, and layers before add theirs.
SAFETY = 16.0


@dataclass(frozen=True, kw_only=True, slots=True)
class OutputError:
    """How one output tensor differs: the greatest and the root mean square error, over that of the output.

    `problem` names what cannot be put in numbers: another shape, another number of outputs, NaN on one side only.
    """

    place: int
    max_error: float
    rms_error: float
    tolerance: float
    problem: str = ""

    @property
    def is_equal(self) -> bool:
        """Within the tolerance: the RMS error as it is, the greatest one of many elements up to 8 times."""
        return not self.problem and self.rms_error <= self.tolerance and self.max_error <= 8 * self.tolerance


@dataclass(frozen=True, kw_only=True, slots=True)
class ModuleComparison:
    """All outputs of one call of a module, the first is `call` 0, or of the same call of another version of it."""

    path: str
    call: int
    outputs: tuple[OutputError, ...]

    @property
    def is_equal(self) -> bool:
        """Whether all outputs are."""
        return all(output.is_equal for output in self.outputs)

    @property
    def worst(self) -> OutputError | None:
        """The output that differs most; None where there is none."""
        return max(self.outputs, key=lambda output: (bool(output.problem), output.rms_error), default=None)


@dataclass(frozen=True, kw_only=True, slots=True)
class NumericComparison:
    """The calls of two models in the order in which they ended, those that both make.

    `first_differing_path` is where the fault is: the first module to return something else, None where all agree and
    where only the model itself differs by what it does outside its modules it is the empty path.
    """

    rows: tuple[ModuleComparison, ...]
    notes: tuple[str, ...] = ()

    @property
    def is_equal(self) -> bool:
        """The verdict: whether the models' own outputs agree."""
        return self.rows[-1].is_equal

    @property
    def first_differing_path(self) -> str | None:
        """The module at fault, children before their parents."""
        return next((row.path for row in self.rows if not row.is_equal), None)


def tolerance_for(dtype: torch.dtype, terms: int) -> float:
    """Relative error that a sum of so many terms may have in this dtype; 0 for integers and truths.

    Half precision is accumulated in float32 by every common kernel and rounded once: its own roundoff does not grow.
    """
    if not (dtype.is_floating_point or dtype.is_complex):
        return 0.0
    roundoff = torch.finfo(dtype).eps / 2
    if torch.finfo(dtype).bits >= 32:
        return SAFETY * roundoff * math.sqrt(max(terms, 1))
    accumulated = torch.finfo(torch.float32).eps / 2 * math.sqrt(max(terms, 1))
    return SAFETY * max(roundoff, accumulated)


def compare_modules(
    first: nn.Module, second: nn.Module, subject: Subject, *, tolerance: float | None = None
) -> tuple[ModuleComparison, ...]:
    """Two versions of a module on the inputs captured for it, call by call; without `tolerance` one by dtype and size.

    Random generators start alike for both, and both modules are left as they were.
    """
    limit = _Tolerance(tolerance, max(_longest_sum(first), _longest_sum(second)))
    rows = []
    for place, call in enumerate(subject.calls):
        outputs = []
        for module in (first, second):
            given = call.fresh()
            with preserved(module), call.context():
                _seed(first, second)
                outputs.append(_snapshot(module(*given.args, **given.kwargs)))
        rows.append(ModuleComparison(path=subject.path, call=place, outputs=_errors(outputs[0], outputs[1], limit)))
    return tuple(rows)


def compare_models(
    first: nn.Module, second: nn.Module, batch: InputBatch, *, tolerance: float | None = None
) -> NumericComparison:
    """Both models on one batch, without gradients; every call of every module that both have is compared.

    Errors of a module include those of what it was given, so that the first that differs is the one to look at. The
    models and the batch are left as they were.

    Raises:
        InputError: the tolerance is negative.
    """
    if tolerance is not None and tolerance < 0:
        raise InputError(f"compare: tolerance must be >= 0, but got {tolerance}")
    limit = _Tolerance(tolerance, max(_longest_sum(first), _longest_sum(second)))
    ours, theirs = _recorded(first, batch), _recorded(second, batch)
    by_call = {(path, call): output for path, call, output in theirs}
    rows = tuple(
        ModuleComparison(path=path, call=call, outputs=_errors(output, by_call[path, call], limit))
        for path, call, output in ours
        if (path, call) in by_call
    )
    known = {(path, call) for path, call, _ in ours}
    alone = sorted({path for path, call in known ^ set(by_call)})
    notes = (f"not called alike in both: {', '.join(alone)}",) if alone else ()
    return NumericComparison(rows=rows, notes=notes)


@dataclass(frozen=True, slots=True)
class _Tolerance:
    given: float | None
    terms: int

    def of(self, dtype: torch.dtype) -> float:
        return tolerance_for(dtype, self.terms) if self.given is None else self.given


# Path, how manieth call of that module, and copies of its outputs.
Recorded = list[tuple[str, int, list[torch.Tensor]]]


def _recorded(model: nn.Module, batch: InputBatch) -> Recorded:
    args, kwargs = clone_inputs((batch.args, dict(batch.kwargs)))
    with preserved(model), torch.no_grad(), _recording(model) as calls:
        _seed(model)
        model(*args, **kwargs)
    return calls


@contextmanager
def _recording(model: nn.Module) -> Iterator[Recorded]:
    """Copies, since modules that work in place change what others have returned."""
    calls: Recorded = []
    counts: dict[int, int] = {}
    nodes = module_tree(model)

    def on_return(index: int, _args: object, _kwargs: object, output: object) -> None:
        call = counts[index] = counts.get(index, -1) + 1
        calls.append((nodes[index].path, call, _snapshot(output)))

    with tracing(nodes, int, on_return=on_return):
        yield calls


def _seed(*models: nn.Module) -> None:
    """The generators that the models draw from, which `preserved` puts back; other devices keep theirs."""
    tensors = [tensor for model in models for tensor in (*model.parameters(), *model.buffers())]
    torch.default_generator.manual_seed(0)
    for index in {tensor.device.index for tensor in tensors if tensor.is_cuda}:
        torch.cuda.default_generators[index].manual_seed(0)


def _snapshot(output: Any) -> list[torch.Tensor]:
    return [tensor.detach().clone() for tensor in tensors_of(output)]


def _errors(
    first: Sequence[torch.Tensor], second: Sequence[torch.Tensor], limit: _Tolerance
) -> tuple[OutputError, ...]:
    found = [_error(place, one, other, limit) for place, (one, other) in enumerate(zip(first, second, strict=False))]
    if len(first) != len(second):
        found.append(_problem(len(found), f"{len(first)} outputs against {len(second)}"))
    return tuple(found)


def _error(place: int, one: torch.Tensor, other: torch.Tensor, limit: _Tolerance) -> OutputError:
    if one.shape != other.shape:
        return _problem(place, f"shape {tuple(one.shape)} against {tuple(other.shape)}")
    # The coarser dtype decides: a version in half precision is judged as such.
    tolerance = max(limit.of(one.dtype), limit.of(other.dtype))
    exact, found = _as_double(one), _as_double(other)
    is_finite = exact.isfinite()
    if not torch.equal(is_finite, found.isfinite()):
        return _problem(place, f"{_count(~is_finite)} elements not finite against {_count(~found.isfinite())}")
    if not torch.equal(exact[~is_finite].nan_to_num(), found[~is_finite].nan_to_num()):
        return _problem(place, "infinities or NaNs in other places")
    exact, found = exact[is_finite], found[is_finite]
    if not exact.numel():
        return OutputError(place=place, max_error=0.0, rms_error=0.0, tolerance=tolerance)
    difference = (found - exact).abs()
    scale = max(float(_rms(exact)), float(_rms(found)))
    rms, most = float(_rms(difference)), float(difference.max())
    return OutputError(
        place=place,
        max_error=most / scale if scale else most,
        rms_error=rms / scale if scale else rms,
        tolerance=tolerance,
    )


def _problem(place: int, what: str) -> OutputError:
    return OutputError(place=place, max_error=math.inf, rms_error=math.inf, tolerance=0.0, problem=what)


def _as_double(tensor: torch.Tensor) -> torch.Tensor:
    dense = tensor.to_dense() if tensor.layout is not torch.strided else tensor
    dense = torch.view_as_real(dense.resolve_conj()) if dense.is_complex() else dense
    return dense.to(torch.float64)


def _rms(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.square().mean().sqrt()


def _count(mask: torch.Tensor) -> int:
    return int(mask.sum())


def _longest_sum(module: nn.Module) -> int:
    """Terms of the longest product or sum over parameters: a matrix's row, a filter; depth adds to it."""
    matrices = [parameter for parameter in module.parameters() if parameter.ndim >= 2]
    longest = max((parameter.numel() // parameter.shape[0] for parameter in matrices if parameter.shape[0]), default=1)
    return longest * max(1, len(matrices))
