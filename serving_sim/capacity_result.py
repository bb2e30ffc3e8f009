"""What a capacity search comes to."""

from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["CapacityResult", "OneDown", "PolicyCapacity"]


@dataclass(frozen=True, kw_only=True, slots=True)
class OneDown:
    """The capacity that is left whichever device is down: that without `device`, whose loss costs most.

    `by_device` has the capacity without each device, 0 where nothing holds the SLA then.
    """

    device: str
    max_qps: float
    ci_low: float
    ci_high: float
    by_device: dict[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyCapacity:
    """A policy's capacity: mean over seeds with a 95 % interval; accuracy and correct predictions at that rate.

    Two kinds of error stand apart: `ci_low` to `ci_high` is the seeds', `table_low` to `table_high` that of the latency
    tables' error bars, widened to 95 % (None where the plan has none). `combined_low` and `combined_high` add both in
    quadrature. `late_share_by_class` is of the classes of queries, where there are any.
    """

    policy: str
    max_qps: float
    ci_low: float
    ci_high: float
    accuracy: float
    correct_predictions_per_s: float
    max_qps_by_seed: tuple[float, ...]
    note: str = ""
    table_low: float | None = None
    table_high: float | None = None
    combined_low: float = 0.0
    combined_high: float = 0.0
    n_plus_one: OneDown | None = None
    late_share_by_class: dict[str, float] | None = None

    def to_object(self) -> dict[str, Any]:
        """The JSON object of a policy in `recplan capacity`."""
        return {
            "policy": self.policy,
            "max_qps": self.max_qps,
            "ci_low": self.ci_low,
            "ci_high": self.ci_high,
            "table_low": self.table_low,
            "table_high": self.table_high,
            "combined_low": self.combined_low,
            "combined_high": self.combined_high,
            "accuracy": self.accuracy,
            "correct_predictions_per_s": self.correct_predictions_per_s,
            "n_plus_one": None if self.n_plus_one is None else asdict(self.n_plus_one),
            "late_share_by_class": self.late_share_by_class,
            "note": self.note,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class CapacityResult:
    """Capacities of the policies, beside the rate above which none could serve (fluid bound of the drawn queries).

    `queries` and `seeds` are how many were served for each; `precision` is what was asked of the seeds' interval (half
    its width over the mean), `reached` what the widest of the policies has, None where no policy has a capacity.
    `left_out` says of each policy that cannot serve the plan why.
    """

    sla_ms: float
    percentile: float
    policies: tuple[PolicyCapacity, ...]
    upper_bound_qps: float
    queries: int
    seeds: int
    reached: float | None = None
    precision: float | None = None
    early_stopping: bool = False
    slas_by_class: dict[str, float] | None = None
    left_out: dict[str, str] = field(default_factory=dict)

    def to_object(self) -> dict[str, Any]:
        """The JSON object of `recplan capacity`."""
        return {
            "sla_ms": self.sla_ms,
            "percentile": self.percentile,
            "policies": [policy.to_object() for policy in self.policies],
            "upper_bound_qps": self.upper_bound_qps,
            "queries": self.queries,
            "seeds": self.seeds,
            "precision": self.precision,
            "reached": self.reached,
            "early_stopping": self.early_stopping,
            "slas_by_class": self.slas_by_class,
            "left_out": self.left_out,
        }
