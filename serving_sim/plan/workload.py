"""The load: when queries come, how large they are, of which class, and which ids they look up."""

import math
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from profiles.edge import STRICT
from profiles.errors import InputError
from serving_sim.plan.checks import require_at_least, require_names, require_positive

__all__ = [
    "HIGHEST_QPS",
    "LOWEST_QPS",
    "MOST_QUERIES",
    "Arrivals",
    "Diurnal",
    "Ids",
    "QueryClass",
    "Sizes",
    "Spike",
    "Workload",
]

# Wide of any real system, and narrow enough that times and sums of a run keep their precision.
LOWEST_QPS, HIGHEST_QPS = 1e-6, 1e9
MOST_QUERIES = 10**10
# Weibull gaps whose shape double precision can find.
_LEAST_WEIBULL_CV, _MOST_WEIBULL_CV = 1e-3, 20.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Diurnal:
    """The rate as a wave: `1 + amplitude x sin(2 pi t / period_s)` times the mean."""

    __pydantic_config__: ClassVar = STRICT
    amplitude: float
    period_s: float

    def __post_init__(self) -> None:
        if not 0 <= self.amplitude < 1:
            raise InputError(f"amplitude: must be in [0, 1), but got {self.amplitude}")
        require_positive("period_s", self.period_s)


@dataclass(frozen=True, kw_only=True, slots=True)
class Spike:
    """From `start_s` on, for `duration_s`, the rate is `factor` times as high; beside the mean, not part of it."""

    __pydantic_config__: ClassVar = STRICT
    start_s: float
    duration_s: float
    factor: float

    def __post_init__(self) -> None:
        require_at_least("start_s", self.start_s, 0)
        require_positive("duration_s", self.duration_s)
        require_positive("factor", self.factor)


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrivals:
    """When queries come, at the workload's mean rate.

    - `poisson`: exponential gaps; `gamma`, `weibull`: gaps of coefficient of variation `cv`.
    - `mmpp`: a Poisson process whose rate switches between two states: for a share `burst_share` of the time, in bursts
      of `mean_burst_s` on average, it is `burst_factor` times that of the calm.
    - `trace`: arrival times rescaled to the QPS; `source` is a built-in name (`azure-conversation`) or a file of times
      in seconds.

    `diurnal` and `spikes` stretch and squeeze the time of any of them.
    """

    __pydantic_config__: ClassVar = STRICT
    process: Literal["poisson", "gamma", "weibull", "mmpp", "trace"] = "poisson"
    cv: float = 1.0
    source: str = ""
    burst_factor: float = 5.0
    burst_share: float = 0.1
    mean_burst_s: float = 1.0
    diurnal: Diurnal | None = None
    spikes: tuple[Spike, ...] = ()

    def __post_init__(self) -> None:
        require_positive("cv", self.cv)
        if self.process == "weibull" and not _LEAST_WEIBULL_CV <= self.cv <= _MOST_WEIBULL_CV:
            raise InputError(
                f"cv: must be in [{_LEAST_WEIBULL_CV:g}, {_MOST_WEIBULL_CV:g}] for weibull gaps, but got {self.cv}"
            )
        if (self.process == "trace") != bool(self.source):
            raise InputError("source: goes with process 'trace', and is needed there")
        require_at_least("burst_factor", self.burst_factor, 1)
        if not 0 < self.burst_share < 1:
            raise InputError(f"burst_share: must be in (0, 1), but got {self.burst_share}")
        require_positive("mean_burst_s", self.mean_burst_s)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """Samples per query, whole and in [1, `maximum`].

    - `fixed` at `mean`; `lognormal` with `sigma` and, once rounded and clipped, that mean.
    - `trace`: the sizes of `source`, rescaled to that mean and then clipped.
    - `quantiles`: each of `values` as likely as the others; `empirical`: each with its weight of `weights`. Both are as
      given: `mean` says nothing there.
    """

    __pydantic_config__: ClassVar = STRICT
    distribution: Literal["fixed", "lognormal", "trace", "quantiles", "empirical"] = "lognormal"
    mean: float = 128.0
    sigma: float = 1.0
    maximum: int = 4096
    source: str = ""
    values: tuple[int, ...] = ()
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not (1 <= self.mean <= self.maximum):
            raise InputError(f"mean: must be in [1, maximum = {self.maximum}], but got {self.mean}")
        if not 0 <= self.sigma < 10:
            raise InputError(f"sigma: must be in [0, 10), but got {self.sigma}")
        if (self.distribution == "trace") != bool(self.source):
            raise InputError("source: goes with distribution 'trace', and is needed there")
        if (self.distribution in ("quantiles", "empirical")) != bool(self.values):
            raise InputError("values: go with distribution 'quantiles' or 'empirical', and are needed there")
        if any(not 1 <= value <= self.maximum for value in self.values):
            raise InputError(f"values: must be in [1, maximum = {self.maximum}], but got {list(self.values)}")
        if (self.distribution == "empirical") != bool(self.weights):
            raise InputError("weights: go with distribution 'empirical', and are needed there")
        if self.weights:
            self._check_weights()

    def _check_weights(self) -> None:
        if len(self.weights) != len(self.values):
            raise InputError(f"weights: must be {len(self.values)} as the values are, but got {len(self.weights)}")
        if not all(weight >= 0 and math.isfinite(weight) for weight in self.weights) or not sum(self.weights) > 0:
            raise InputError(f"weights: must be finite, >= 0 and not all 0, but got {list(self.weights)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class QueryClass:
    """Queries that come with a `share` of the load, their own SLA and, where given, their own sizes."""

    __pydantic_config__: ClassVar = STRICT
    name: str
    share: float
    sla_ms: float
    sizes: Sizes | None = None

    def __post_init__(self) -> None:
        require_positive("share", self.share, self.name)
        require_positive("sla_ms", self.sla_ms, self.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ids:
    """Which ids a lookup asks for: `rows` of them, alike (`uniform`) or by rank^-`exponent` (`zipf`), or those of a
    log: `source` is a bundled access log's name (`scarab`) or a file as `load_access_log` reads it, such as text with
    an id a line.
    """

    __pydantic_config__: ClassVar = STRICT
    kind: Literal["uniform", "zipf", "log"] = "zipf"
    exponent: float = 1.05
    rows: int = 1_000_000
    source: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.exponent <= 5:
            raise InputError(f"exponent: must be in [0, 5], but got {self.exponent}")
        if self.rows < 1:
            raise InputError(f"rows: must be >= 1, but got {self.rows}")
        if (self.kind == "log") != bool(self.source):
            raise InputError("source: goes with kind 'log', and is needed there")


@dataclass(frozen=True, kw_only=True, slots=True)
class Workload:
    """The load: queries per second, the SLA and the percentile that must hold it.

    With `classes`, each query is of one of them, and has that class's SLA and sizes in place of the workload's.
    """

    __pydantic_config__: ClassVar = STRICT
    qps: float
    sla_ms: float
    percentile: float = 99.0
    queries: int = 100_000
    arrivals: Arrivals = field(default_factory=Arrivals)
    sizes: Sizes = field(default_factory=Sizes)
    classes: tuple[QueryClass, ...] = ()
    ids: Ids = field(default_factory=Ids)

    def __post_init__(self) -> None:
        for name in ("qps", "sla_ms"):
            require_positive(name, getattr(self, name))
        if not LOWEST_QPS <= self.qps <= HIGHEST_QPS:
            raise InputError(f"qps: must be in [{LOWEST_QPS:g}, {HIGHEST_QPS:g}], but got {self.qps}")
        if not 0 < self.percentile < 100:
            raise InputError(f"percentile: must be in (0, 100), but got {self.percentile}")
        if not 1 <= self.queries <= MOST_QUERIES:
            raise InputError(f"queries: must be in [1, {MOST_QUERIES}], but got {self.queries}")
        require_names("classes", [one.name for one in self.classes])
        total = math.fsum(one.share for one in self.classes)
        if self.classes and not math.isclose(total, 1, rel_tol=1e-9):
            raise InputError(f"classes: shares must sum to 1, but got {total:.6g}")

    @property
    def largest_size(self) -> int:
        """The most samples that a query can have."""
        own = [one.sizes.maximum for one in self.classes if one.sizes is not None]
        general = len(own) < max(1, len(self.classes))
        return max([*own, self.sizes.maximum] if general else own)

    @property
    def slas_ms(self) -> tuple[float, ...]:
        """The SLA of each class, or of all queries where there are no classes."""
        return tuple(one.sla_ms for one in self.classes) or (self.sla_ms,)

    def class_sizes(self) -> tuple[Sizes, ...]:
        """The sizes of each class, or of all queries where there are no classes."""
        return tuple(one.sizes or self.sizes for one in self.classes) or (self.sizes,)
