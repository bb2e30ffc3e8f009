"""How a sweep measures."""

from collections.abc import Sequence
from dataclasses import dataclass

from profiles.agreement import has_settled
from profiles.errors import InputError
from profiles.timing import TimingOptions
from profiles.units import MS_PER_S
from profiles.visits import Sample, Visit

__all__ = ["SweepOptions"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepOptions:
    """Threads, visits and time per visit; `warm` and `cold` choose the latencies to take.

    Groups of `group_size` components, or fewer where parameters and inputs exceed `group_bytes`, are built at once
    and visited in turn: large ones put seconds between a component's visits, as long as a shared machine's slow spells
    last. `retry_skipped` measures components again that an earlier sweep had to skip. A visit during which other work
    held the processor is thrown away and made again, `retakes` times per component; what then remains is marked in the
    row (`figures["contended_visits"]`).

    With an `agreement`, a component is visited on until two visits that were not made one after the other are within
    that share of the fastest, by their 25th percentiles, or until `most_visits` were made, or their
    samples add up to `most_call_seconds`. Its latency is that of the visits within the share, and how far apart the two
    fastest are is in the row (`figures["visits_apart"]`). Rounds begin at least `least_gap_s` apart.

    With `quiet_core`, samples count only where the core's probe (`profiles.core_probe`) was within that share of its
    least before and after them. The sweep waits for that, `patience` times as long as clean visits alone would take. A
    component is then visited until it has `visits` clean ones, within the same limits,
    and its latency is that of the clean ones; where there are fewer than two, that of those which agree.
    """

    threads: int = 1
    visits: int = 3
    seconds_per_visit: float = 0.03
    max_seconds_per_visit: float = 2.0
    min_samples: int = 5
    max_samples: int = 400
    warm: bool = True
    cold: bool = False
    group_size: int = 256
    group_bytes: int = 2 * 10**9
    least_gap_s: float = 0.02
    seed: int = 0
    retry_skipped: bool = False
    retakes: int = 0
    agreement: float | None = None
    quiet_core: float | None = None
    patience: float = 5.0
    most_visits: int = 16
    most_call_seconds: float = 2.0

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise InputError(f"sweep: threads must be >= 1, but got {self.threads}")
        if self.group_size < 1:
            raise InputError(f"sweep: group_size must be >= 1, but got {self.group_size}")
        if self.retakes < 0:
            raise InputError(f"sweep: retakes must be >= 0, but got {self.retakes}")
        if self.agreement is not None and not self.agreement > 0:
            raise InputError(f"sweep: agreement must be > 0, but got {self.agreement}")
        if self.quiet_core is not None and not self.quiet_core > 0:
            raise InputError(f"sweep: quiet_core must be > 0, but got {self.quiet_core}")
        if not self.patience >= 0:
            raise InputError(f"sweep: patience must be >= 0, but got {self.patience}")
        if (self.agreement or self.quiet_core) is not None and self.most_visits < self.visits:
            raise InputError(f"sweep: most_visits must be >= visits ({self.visits}), but got {self.most_visits}")
        if not (self.warm or self.cold):
            raise InputError("sweep: must measure warm, cold or both, but got neither")
        _ = self.timing

    @property
    def timing(self) -> TimingOptions:
        """The part that times one visit; validates its values."""
        return TimingOptions(
            visits=self.visits,
            seconds_per_visit=self.seconds_per_visit,
            max_seconds_per_visit=self.max_seconds_per_visit,
            min_samples=self.min_samples,
            max_samples=self.max_samples,
        )

    def visits_left(self, visits: Sequence[Visit]) -> int:
        """How many visits a component still needs that has had these, at least: agreement may take more."""
        return max(self.warm_left(visits), self.cold_left(visits))

    def warm_left(self, visits: Sequence[Visit]) -> int:
        """How many of them must be warm."""
        return self._left([(visit, visit.warm) for visit in visits if visit.warm]) if self.warm else 0

    def cold_left(self, visits: Sequence[Visit]) -> int:
        """How many of them must be cold."""
        return self._left([(visit, visit.cold) for visit in visits if visit.cold]) if self.cold else 0

    def _left(self, made: Sequence[tuple[Visit, tuple[Sample, ...]]]) -> int:
        clean = sum(not visit.is_contended for visit, _ in made)
        tries = self.most_visits if self.quiet_core is not None else self.visits + self.retakes
        left = max(0, min(self.visits - clean, tries - len(made)))
        if len(made) < self.visits or (self.agreement or self.quiet_core) is None:
            return left
        if sum(sample.wall_ms for _, samples in made for sample in samples) >= self.most_call_seconds * MS_PER_S:
            return 0
        if left or self.agreement is None or self.quiet_core is not None or len(made) >= self.most_visits:
            return left
        return int(not has_settled([samples for _, samples in made], self.agreement))

    def patience_s(self, components: int) -> float:
        """How long a sweep of so many components waits for a quiet core in all."""
        return self.patience * self.estimate_seconds(components)

    def estimate_seconds(self, components: int) -> float:
        """Rough time to measure that many components of short calls, contention and building aside."""
        return components * self.visits * self.seconds_per_visit * (self.warm + self.cold)
