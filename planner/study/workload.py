"""`[workload]`: the load to serve, in the user's short forms, and what they mean in a plan."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from planner.study.load_shapes import ArrivalsForm, SizesForm, number, only, parse_arrivals, parse_sizes, source_of
from profiles.edge import STRICT
from profiles.errors import InputError
from serving_sim.plan import Diurnal, Ids, QueryClass, Spike, Workload

__all__ = ["ClassSection", "WorkloadSection", "skew_log"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassSection:
    """Queries that come with a `share` of the load, with their own SLA and, where given, sizes."""

    __pydantic_config__: ClassVar = STRICT
    name: str
    share: float
    sla_ms: float
    sizes: SizesForm = None

    def __post_init__(self) -> None:
        self.to_plan()

    def to_plan(self, base: Path | None = None) -> QueryClass:
        """The class as a plan holds it."""
        sizes = None if self.sizes is None else parse_sizes(self.sizes, base)
        return QueryClass(name=self.name, share=self.share, sla_ms=self.sla_ms, sizes=sizes)


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkloadSection:
    """QPS, SLA and the shapes of load.

    `arrivals`: `"poisson"`, `{ gamma_cv = 2.0 }`, `{ weibull_cv = 2.0 }`, `{ burst_factor = 5, burst_share = 0.1,
    mean_burst_s = 1 }`, a built-in trace's name or a trace file.
    `diurnal`: `{ amplitude = 0.5, period_s = 86400 }`; `spikes`: a list of `{ start_s, duration_s, factor }`.
    `sizes`: `{ lognormal_mean = 128, sigma = 1.0, max = 4096 }`, `{ fixed = 64 }`, `{ trace = NAME, mean = 128 }`,
    `{ quantiles = [100, 200] }`, or `{ values = [10, 20], weights = [3, 1] }`.
    `classes`: a list of `{ name, share, sla_ms, sizes }`, the sizes as above or those of the workload.
    `id_skew`: `"data"` (fitted to the study's data), `"uniform"`, `{ zipf = 1.05 }`, or a log file of ids, one a line.
    """

    __pydantic_config__: ClassVar = STRICT
    qps: float = 1000.0
    sla_ms: float = 10.0
    percentile: float = 99.0
    queries: int = 100_000
    arrivals: ArrivalsForm = "poisson"
    diurnal: Diurnal | None = None
    spikes: tuple[Spike, ...] = ()
    sizes: SizesForm = None
    classes: tuple[ClassSection, ...] = ()
    id_skew: str | dict[str, float] = "data"

    def __post_init__(self) -> None:
        self.to_plan()
        self.zipf()

    def to_plan(self, base: Path | None = None) -> Workload:
        """The workload as a plan holds it; trace files are taken relative to `base`."""
        return Workload(
            qps=self.qps,
            sla_ms=self.sla_ms,
            percentile=self.percentile,
            queries=self.queries,
            arrivals=replace(parse_arrivals(self.arrivals, base), diurnal=self.diurnal, spikes=self.spikes),
            sizes=parse_sizes(self.sizes, base),
            classes=tuple(one.to_plan(base) for one in self.classes),
            ids=self._ids(base),
        )

    def zipf(self) -> float | None:
        """The Zipf exponent of ids, or None where it is to be fitted to the data or to a log."""
        if isinstance(self.id_skew, str):
            return 0.0 if self.id_skew == "uniform" else None
        options = only("id_skew", self.id_skew, required="zipf")
        exponent = number("id_skew.zipf", options["zipf"])
        if not 0 <= exponent <= 5:
            raise InputError(f"id_skew.zipf: must be in [0, 5], but got {exponent}")
        return exponent

    def _ids(self, base: Path | None) -> Ids:
        if isinstance(self.id_skew, str):
            if self.id_skew == "data":
                return Ids()
            if self.id_skew != "uniform":
                return Ids(kind="log", source=source_of(self.id_skew, base))
        exponent = self.zipf()
        return Ids(exponent=exponent) if exponent else Ids(kind="uniform")


def skew_log(section: WorkloadSection, base: Path) -> Path | None:
    """The id log that the skew is to be fitted to, where the section names one.

    Raises:
        InputError: the named file is not there.
    """
    if not isinstance(section.id_skew, str) or section.id_skew in ("data", "uniform"):
        return None
    log = base / section.id_skew
    if not log.is_file():
        raise InputError(
            f"workload.id_skew: must be 'data', 'uniform', {{ zipf = 1.05 }} or a log file, but there is no file {log}"
        )
    return log
