"""`[workload]`: the load to serve, in the user's short forms, and what they mean in a plan."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from profiles.edge import STRICT
from profiles.errors import InputError
from serving_sim.plan import Arrivals, Sizes, Workload

__all__ = ["WorkloadSection", "skew_log"]


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkloadSection:
    """QPS, SLA and the shapes of load.

    `arrivals`: `"poisson"`, `{ gamma_cv = 2.0 }`, a built-in trace's name or a trace file.
    `sizes`: `{ lognormal_mean = 128, sigma = 1.0, max = 4096 }`, `{ fixed = 64 }`, or `{ trace = NAME, mean = 128 }`.
    `id_skew`: `"data"` (fitted to the study's data), `"uniform"`, `{ zipf = 1.05 }`, or a log file of ids, one a line.
    """

    __pydantic_config__: ClassVar = STRICT
    qps: float = 1000.0
    sla_ms: float = 10.0
    percentile: float = 99.0
    queries: int = 100_000
    arrivals: str | dict[str, float] = "poisson"
    sizes: str | dict[str, float | str] | None = None
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
            arrivals=_arrivals(self.arrivals, base),
            sizes=_sizes(self.sizes, base),
        )

    def zipf(self) -> float | None:
        """The Zipf exponent of ids, or None where it is to be fitted to the data or to a log."""
        if isinstance(self.id_skew, str):
            return 0.0 if self.id_skew == "uniform" else None
        options = _only("id_skew", self.id_skew, required="zipf")
        exponent = _number("id_skew.zipf", options["zipf"])
        if not 0 <= exponent <= 5:
            raise InputError(f"id_skew.zipf: must be in [0, 5], but got {exponent}")
        return exponent


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


def _arrivals(given: str | Mapping[str, float], base: Path | None) -> Arrivals:
    if isinstance(given, str):
        return Arrivals() if given == "poisson" else Arrivals(process="trace", source=_source(given, base))
    cv = _number("arrivals.gamma_cv", _only("arrivals", given, required="gamma_cv")["gamma_cv"])
    if not cv > 0:
        raise InputError(f"arrivals.gamma_cv: must be > 0, but got {cv}")
    return Arrivals(process="gamma", cv=cv)


def _sizes(given: str | Mapping[str, float | str] | None, base: Path | None) -> Sizes:
    if given is None:
        return Sizes()
    if isinstance(given, str):
        return Sizes(distribution="trace", source=_source(given, base))
    if "fixed" in given:
        size = _number("sizes.fixed", _only("sizes", given, required="fixed")["fixed"])
        return _checked("fixed", distribution="fixed", mean=size, maximum=max(4096, math.ceil(size)))
    if "trace" in given:
        options = _only("sizes", given, required="trace", optional=("mean", "max"))
        source = _source(str(options["trace"]), base)
        return _checked(
            "mean", distribution="trace", source=source, mean=_mean(options, "mean"), maximum=_maximum(options)
        )
    options = _only("sizes", given, required="lognormal_mean", optional=("sigma", "max"))
    sigma = _number("sizes.sigma", options.get("sigma", 1.0))
    mean = _mean(options, "lognormal_mean")
    return _checked("lognormal_mean", distribution="lognormal", sigma=sigma, mean=mean, maximum=_maximum(options))


def _checked(mean_key: str, **fields: Any) -> Sizes:
    """The sizes; a complaint about them names the study's keys, not the plan's."""
    try:
        return Sizes(**fields)
    except InputError as error:
        key, _, complaint = str(error).partition(": ")
        name = {"mean": mean_key, "maximum": "max"}.get(key, key)
        raise InputError(f"sizes.{name}: {complaint.replace('maximum =', 'max =')}") from None


def _mean(options: Mapping[str, float | str], key: str) -> float:
    return _number(f"sizes.{key}", options.get(key, 128.0))


def _maximum(options: Mapping[str, float | str]) -> int:
    return int(_number("sizes.max", options.get("max", 4096)))


def _source(name: str, base: Path | None) -> str:
    """A built-in trace's name as it is; a file's path relative to the study's folder."""
    if base is not None and (base / name).is_file():
        return str(base / name)
    return name


def _only(
    where: str, given: Mapping[str, float | str], *, required: str, optional: tuple[str, ...] = ()
) -> Mapping[str, float | str]:
    known = (required, *optional)
    if unknown := sorted(set(given) - set(known)):
        raise InputError(
            f"{where}.{unknown[0]}: unknown key; known beside {required!r}: {', '.join(optional) or 'none'}"
        )
    if required not in given:
        raise InputError(f"{where}: {required} is missing")
    return given


def _number(where: str, value: float | str) -> float:
    if isinstance(value, str) or not math.isfinite(value):
        raise InputError(f"{where}: must be a finite number, but got {value!r}")
    return float(value)
