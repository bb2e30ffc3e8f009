"""Algorithm 1 of MP-Rec (Hsia et al., arXiv 2302.10872) on one device: which candidates share its memory.

The paper gives prose: the hybrid that fits, with the largest k; a table path for tight SLAs; with capacity left a DHE
whose accuracy and latency lie between the two; on a memory-constrained device a compact DHE. Where the prose leaves a
choice open, the docstrings below say what is done.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from planner.mapping.candidate import TrainedCandidate
from planner.mapping.decision import Decision, Role
from profiles.units import format_bytes, format_ms

__all__ = ["DevicePaths", "Pool", "choose_paths"]

# A table path may be so much slower than the fastest table if it is the more accurate.
_TABLE_SLACK = 1.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Pool:
    """The candidates as one device sees them: its memory, and latency at the workload's mean query size."""

    device: str
    memory_bytes: int
    sla_ms: float
    mean_size: int
    candidates: tuple[TrainedCandidate, ...]
    latency_ms: Callable[[TrainedCandidate], float]

    def of(self, role: str) -> list[TrainedCandidate]:
        """Candidates that can be a `table`, a `dhe` or a `hybrid` to the steps."""
        return [one for one in self.candidates if one.role == role]


@dataclass(frozen=True, kw_only=True, slots=True)
class DevicePaths:
    """The chosen candidates, in the order chosen, and the decision of every step."""

    chosen: tuple[TrainedCandidate, ...]
    decisions: tuple[Decision, ...]


def choose_paths(pool: Pool) -> DevicePaths:
    """The four steps in order; all parameters on the device count against its memory together."""
    steps = _Steps(pool)
    steps.take_hybrid()
    steps.take_table()
    steps.take_dhe()
    return DevicePaths(chosen=tuple(steps.chosen), decisions=tuple(steps.decisions))


class _Steps:
    """The state between the steps: what was chosen, and the memory that is left."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.chosen: list[TrainedCandidate] = []
        self.decisions: list[Decision] = []

    @property
    def free_bytes(self) -> int:
        return self.pool.memory_bytes - sum(one.parameter_bytes for one in self.chosen)

    def take_hybrid(self) -> None:
        """The best hybrid, then the largest k, then the fewest bytes.

        A hybrid that leaves room for a table goes before one that does not. One that takes the table's room is taken
        only if it meets the SLA at the mean query size: a device must not be left with a path that is always late.
        """
        hybrids, tables = self.pool.of("hybrid"), self.pool.of("table")
        fitting = self._fitting(hybrids)
        if not fitting:
            self._pass("hybrid", self._why_none("hybrid", hybrids))
            return
        smallest_table = min((one.parameter_bytes for one in tables), default=0)
        sharing = [one for one in fitting if one.parameter_bytes + smallest_table <= self.free_bytes]
        is_table_possible = bool(tables) and smallest_table <= self.free_bytes
        in_time = [one for one in fitting if self._latency_ms(one) <= self.pool.sla_ms]
        if not sharing and is_table_possible and not in_time:
            late = min(fitting, key=self._latency_ms)
            at_best = f"{format_ms(self._latency_ms(late))} at {self._size()}"
            self._pass(
                "hybrid", f"would take the table path's memory, but misses the SLA of {self._sla()} ({at_best} at best)"
            )
            return
        pool = sharing or (in_time if is_table_possible else fitting)
        best = max(pool, key=lambda one: (one.quality, one.largest_k, -one.parameter_bytes, one.name))
        note = "" if sharing or not is_table_possible else "; no table fits beside it"
        self._take("hybrid", best, f"the best hybrid that fits{note}")

    def take_table(self) -> None:
        """The best table among those at most 1.5 times as slow as the fastest that fits."""
        tables = self.pool.of("table")
        fitting = self._fitting(tables)
        if not fitting:
            self._pass("table", self._why_none("table", tables))
            return
        limit_ms = _TABLE_SLACK * min(self._latency_ms(one) for one in fitting)
        quick = [one for one in fitting if self._latency_ms(one) <= limit_ms]
        best = max(quick, key=lambda one: (one.quality, -self._latency_ms(one), one.name))
        self._take("table", best, "the path for tight SLAs: the best of the fast tables that fit")

    def take_dhe(self) -> None:
        """The best DHE (or select) that fits what is left and that no chosen path beats.

        Beside a hybrid and a table that leaves those between the two in quality and latency, and the rare one that is
        better than both. Where the memory kept a hybrid or a table away, this is the compact DHE.
        """
        role: Role = "between" if len(self.chosen) == 2 else "compact"
        dhes = self.pool.of("dhe")
        fitting = self._fitting(dhes)
        useful = [one for one in fitting if not self._beaten(one)]
        if not fitting:
            self._pass(role, self._why_none("DHE", dhes))
        elif not useful:
            near = max(fitting, key=lambda one: one.quality)
            rival = next(one for one in self.chosen if self._beats(one, near))
            measures = f"{near.name} ({self._figures(near)}) is beaten by {rival.name} ({self._figures(rival)})"
            self._pass(role, f"no DHE that fits has a use beside the chosen paths: {measures}")
        else:
            best = max(useful, key=lambda one: (one.quality, -self._latency_ms(one), one.name))
            self._take(role, best, self._why_dhe(best) if role == "between" else "a compact DHE that fits")

    def _why_dhe(self, one: TrainedCandidate) -> str:
        """What the DHE is to the hybrid and the table that stand already; neither of them beats it."""
        qualities = [rival.quality for rival in self.chosen]
        latencies = [self._latency_ms(rival) for rival in self.chosen]
        if one.quality > max(qualities):
            return "a DHE better than both hybrid and table"
        if min(qualities) < one.quality and min(latencies) < self._latency_ms(one) < max(latencies):
            return "a DHE between table and hybrid in quality and latency"
        return "a DHE that neither hybrid nor table beats in both quality and latency"

    def _beaten(self, one: TrainedCandidate) -> bool:
        return any(self._beats(rival, one) for rival in self.chosen)

    def _beats(self, rival: TrainedCandidate, one: TrainedCandidate) -> bool:
        return rival.quality >= one.quality and self._latency_ms(rival) <= self._latency_ms(one)

    def _fitting(self, candidates: Sequence[TrainedCandidate]) -> list[TrainedCandidate]:
        return [one for one in candidates if one.parameter_bytes <= self.free_bytes]

    def _latency_ms(self, one: TrainedCandidate) -> float:
        return self.pool.latency_ms(one)

    def _take(self, role: Role, one: TrainedCandidate, why: str) -> None:
        free = format_bytes(self.free_bytes)
        self.chosen.append(one)
        reason = f"{why}: {self._figures(one)}, {format_bytes(one.parameter_bytes)} of {free} free"
        self._decide(role, one.name, reason)

    def _pass(self, role: Role, reason: str) -> None:
        self._decide(role, None, reason)

    def _decide(self, role: Role, candidate: str | None, reason: str) -> None:
        self.decisions.append(Decision(device=self.pool.device, role=role, candidate=candidate, reason=reason))

    def _why_none(self, what: str, candidates: Sequence[TrainedCandidate]) -> str:
        if not candidates:
            return f"no {what} among the candidates"
        smallest = min(candidates, key=lambda one: (one.parameter_bytes, one.name))
        missing = smallest.parameter_bytes - self.free_bytes
        return (
            f"no {what} fits the {format_bytes(self.free_bytes)} left; the smallest, {smallest.name}, "
            f"would fit with {missing:,} more bytes"
        )

    def _figures(self, one: TrainedCandidate) -> str:
        return f"{one.quality_text}, {format_ms(self._latency_ms(one))} at {self._size()}"

    def _size(self) -> str:
        return f"{self.pool.mean_size} samples"

    def _sla(self) -> str:
        return format_ms(self.pool.sla_ms)
