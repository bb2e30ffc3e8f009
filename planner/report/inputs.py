"""What the report is made from: plain data, one part per section. A part that is None is left out; the page says so.

Rows are flat mappings of JSON values, so that everything here survives a round trip through a file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from planner.report.blocks import Rows
from profiles.errors import InputError
from profiles.records import ComponentProfile, Fingerprint

if TYPE_CHECKING:
    from planner.cost_model.validation import ValidationReport

__all__ = ["MappingInputs", "ReportInputs", "SearchInputs", "ServingInputs", "ValidationInputs"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidationInputs:
    """The cost model against held-out measurements.

    `summary` has the keys of `recplan validate --json`. `points`: one row per held-out component with `kind`,
    `measured_ms`, `predicted_ms`, and where known `component`, `batch`, `low_ms`, `high_ms`. `learning_curve` and
    `in_situ` are the frames of a thorough validation as rows.
    """

    summary: Mapping[str, Any]
    points: Rows = ()
    learning_curve: Rows = ()
    in_situ: Rows = ()

    @classmethod
    def of(cls, report: "ValidationReport") -> Self:
        """Those of a validation."""
        return cls(
            summary=report.to_object(),
            points=tuple(report.points.to_dicts()),
            learning_curve=tuple(report.learning_curve.to_dicts()),
            in_situ=tuple(report.in_situ_parts.to_dicts()),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchInputs:
    """The search's trials.

    `trials`: one row per trial with `number`, `name`, `state`, `representation`, `accuracy`, `auc`, `log_loss`,
    `latency_ms` (on `latency_device`, for a query of `latency_batch` samples), `provenance` (what that rests on),
    `parameter_bytes`, `flops`, `feasible`, `pareto`, and where known the choices, `reason` and `train_seconds`.
    Quality is of validation rows; `test_auc` and `test_accuracy`, where known, of rows that no choice looked at.
    `objectives` and `constraints` are those of the study; `chosen` is the trial whose components are shown. `volume`,
    `forecasts`, `importances` and `parallel` are the frames of those names in `planner.search`, `reasons` have
    `number`, `why`, `trade` and `within_noise` of each member of the front. `rebuild` is the command that rebuilds its
    first, `screened` a line on what was ruled out before any training. Rows have the objectives beyond these too, and
    where features chose by groups a `description` of the choices. `simulated_qps`, `simulated_low` and
    `simulated_high` are capacities that were simulated.
    """

    trials: Rows
    objectives: tuple[str, ...] = ("auc", "latency_ms", "parameter_bytes")
    constraints: Mapping[str, float] = field(default_factory=dict)
    latency_device: str = ""
    latency_batch: int = 0
    hypervolume: float | None = None
    chosen: int | None = None
    volume: Rows = ()
    importances: Rows = ()
    parallel: Rows = ()
    reasons: Rows = ()
    rebuild: str = ""
    screened: str = ""
    forecasts: Rows = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class MappingInputs:
    """Why the plan holds the paths it holds.

    `decisions`: one row per step and device with `device`, `role`, `candidate` (None where the step took none) and
    `reason`, as `planner.mapping` records them, and where known `representation` and `parameter_bytes`. `tables`: what
    was found beside them, each with `title`, `columns`, `rows` of as many texts, `text_columns` and `notes`.
    """

    decisions: Rows
    tables: Rows = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingInputs:
    """The plan under load.

    `simulations`: per policy the object of `recplan simulate --json`, whose `policy` is a label of its own, with
    `static` (whether it serves every query on one path). `capacity`: the object of `recplan capacity --json` with the
    same labels, and `confidence`, that of its intervals (0.95 by default). `slas`: policies under other
    SLAs at the same load, with `policy`, `sla_ms`, `violation_share`. `latency`, `violations` and `path_share`
    are the frames of `serving_sim.charts` as rows, `load`, `queue` and `cost` those of its siblings `charts_load`,
    `charts_queue` and `charts_cost`; `path_share_policy` is the label that `path_share` and `queue` are of.
    """

    simulations: Rows
    capacity: Mapping[str, Any] | None = None
    slas: Rows = ()
    latency: Rows = ()
    path_share: Rows = ()
    path_share_policy: str = ""
    violations: Rows = ()
    load: Rows = ()
    queue: Rows = ()
    cost: Rows = ()

    def __post_init__(self) -> None:
        labels = [str(row.get("policy", "")) for row in self.simulations]
        if not labels or not all(labels) or len(set(labels)) < len(labels):
            raise InputError(f"serving.simulations: every one needs a `policy` label of its own, but got {labels}")


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportInputs:
    """Everything on the page: `created` is an ISO date, `study` the study file as read, `data` a line on the rows.

    `constant_accuracy` is the share of held-out rows that one constant answer gets right: what accuracy starts from.
    """

    name: str
    created: str
    study: Mapping[str, Any]
    fingerprint: Fingerprint
    data: str = ""
    constant_accuracy: float | None = None
    seeds: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    plan: Mapping[str, Any] | None = None
    profile: tuple[ComponentProfile, ...] | None = None
    validation: ValidationInputs | None = None
    search: SearchInputs | None = None
    mapping: MappingInputs | None = None
    serving: ServingInputs | None = None

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InputError("name: must not be empty")
        if self.serving is not None and self.plan is None:
            raise InputError("serving: needs the plan that was served")
