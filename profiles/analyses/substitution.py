"""Judge a replacement for a submodule: alone, in its parent, and in the whole model, eager and compiled.

What is slower alone may be faster in the model: a compiler fuses simple operators with what stands around them, and
not what it cannot see into. So the last of these measurements decides. Latencies are compared by their 25th
percentile, which a busy machine moves least.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from torch import nn

from profiles.analyses.alternatives import subjects_at, time_in_turn
from profiles.analyses.numeric import ModuleComparison, compare_modules
from profiles.analyses.opportunity import compiled
from profiles.analyses.replacement import module_at, with_replaced
from profiles.errors import InputError
from profiles.providers.target import Target
from profiles.records import Latency
from profiles.timing import TimingOptions
from profiles.walk.preservation import preserved
from profiles.walk.subject import Subject

__all__ = ["Mode", "Scope", "Substitution", "SubstitutionRow", "judge_substitution"]

Scope = Literal["alone", "parent", "model"]
Mode = Literal["eager", "compiled"]
SCOPES: tuple[Scope, ...] = ("alone", "parent", "model")


@dataclass(frozen=True, kw_only=True, slots=True)
class SubstitutionRow:
    """One pass of what stands at `path`, with the module as it was and with its replacement."""

    scope: Scope
    mode: Mode
    path: str
    before: Latency
    after: Latency

    @property
    def change(self) -> float:
        """How much longer it takes with the replacement, as a share; negative where it is faster."""
        return self.after.p25_ms / self.before.p25_ms - 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Substitution:
    """The rows by scope and mode, and whether both versions compute the same on the captured inputs."""

    path: str
    rows: tuple[SubstitutionRow, ...]
    numeric: tuple[ModuleComparison, ...]

    @property
    def is_equal(self) -> bool:
        """Whether the outputs agree within what another order of sums explains."""
        return all(comparison.is_equal for comparison in self.numeric)

    def row(self, scope: Scope, mode: Mode) -> SubstitutionRow:
        """The row of that scope and mode.

        Raises:
            InputError: it was not measured.
        """
        for row in self.rows:
            if (row.scope, row.mode) == (scope, mode):
                return row
        raise InputError(f"substitution: {scope} {mode} was not measured")

    @property
    def is_locally_slow_globally_fast(self) -> bool:
        """Slower alone in eager mode, and the model, as it will run, is faster all the same."""
        last: Mode = "compiled" if any(row.mode == "compiled" for row in self.rows) else "eager"
        return self.row("alone", "eager").change > 0 > self.row("model", last).change


def judge_substitution(
    target: Target,
    path: str,
    replacement: nn.Module,
    *,
    compile: bool = True,  # noqa: A002 (what torch calls it)
    backward: bool = False,
    timing: TimingOptions | None = None,
) -> Substitution:
    """Time the module at `path` and its replacement in all scopes, in turn; the target's model stays as it is.

    The scope `parent` is left out where the model itself is the parent.

    Raises:
        InputError: there is no module at the path, or it is the model itself.
        MeasurementError: something raises, is never called, or cannot be compiled.
    """
    if not path:
        raise InputError("substitution: must be the path of a submodule, but got that of the model")
    module_at(target.model, path)
    paths = tuple(dict.fromkeys((path, _called_parent(target, path), "")))
    scopes: Sequence[Scope] = SCOPES if len(paths) == len(SCOPES) else ("alone", "model")
    subjects = list(subjects_at(target, paths, backward=backward).values())
    with preserved(target.model, copies_parameters=backward), preserved(replacement, copies_parameters=backward):
        changed = [_with_replacement(subject, path, replacement) for subject in subjects]
        versions: dict[Mode, list[Subject]] = {"eager": [*subjects, *changed]}
        if compile:
            versions["compiled"] = [compiled(subject) for subject in versions["eager"]]
        timed = time_in_turn([subject for of_mode in versions.values() for subject in of_mode], timing)
        numeric = compare_modules(subjects[0].module, replacement, subjects[0])
    rows = []
    for mode in versions:
        before, after = timed[: len(paths)], timed[len(paths) : 2 * len(paths)]
        timed = timed[2 * len(paths) :]
        for scope, one, old, new in zip(scopes, paths, before, after, strict=True):
            rows.append(SubstitutionRow(scope=scope, mode=mode, path=one, before=old, after=new))
    return Substitution(path=path, rows=tuple(rows), numeric=numeric)


def _with_replacement(subject: Subject, path: str, replacement: nn.Module) -> Subject:
    if subject.path == path:
        return replace(subject, module=replacement, original=replacement)
    inner = path[len(subject.path) + 1 :] if subject.path else path
    changed = with_replaced(subject.module, {inner: replacement})
    return replace(subject, module=changed, original=changed)


def _called_parent(target: Target, path: str) -> str:
    """The nearest module around it that is called: lists are not."""
    while path:
        path = path.rpartition(".")[0]
        if not isinstance(target.model.get_submodule(path), nn.ModuleList | nn.ModuleDict):
            break
    return path
