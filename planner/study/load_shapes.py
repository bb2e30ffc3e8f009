"""The short forms in which a study gives arrivals and sizes, and what they mean in a plan."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from profiles.errors import InputError
from serving_sim.plan import Arrivals, Sizes

__all__ = ["ArrivalsForm", "SizesForm", "number", "only", "parse_arrivals", "parse_sizes", "source_of"]

ArrivalsForm: TypeAlias = str | dict[str, float]
SizesForm: TypeAlias = str | dict[str, float | str | list[float]] | None
_Values: TypeAlias = Mapping[str, Any]

_CV_FORMS = {"gamma_cv": "gamma", "weibull_cv": "weibull"}


def parse_arrivals(given: ArrivalsForm, base: Path | None) -> Arrivals:
    """The arrivals that a short form says; a trace file is taken relative to `base`.

    Raises:
        InputError: an unknown key or a bad value; names the study's key.
    """
    if isinstance(given, str):
        return Arrivals() if given == "poisson" else Arrivals(process="trace", source=source_of(given, base))
    if "burst_factor" in given:
        options = only("arrivals", given, required="burst_factor", optional=("burst_share", "mean_burst_s"))
        return _arrivals({}, process="mmpp", **{key: number(f"arrivals.{key}", options[key]) for key in options})
    key = next((key for key in _CV_FORMS if key in given), "gamma_cv")
    cv = number(f"arrivals.{key}", only("arrivals", given, required=key)[key])
    return _arrivals({"cv": key}, process=_CV_FORMS[key], cv=cv)


def parse_sizes(given: SizesForm, base: Path | None) -> Sizes:
    """The sizes that a short form says; a trace file is taken relative to `base`.

    Raises:
        InputError: an unknown key or a bad value; names the study's key.
    """
    if given is None:
        return Sizes()
    if isinstance(given, str):
        return Sizes(distribution="trace", source=source_of(given, base))
    form = next((form for key, form in _SIZE_FORMS.items() if key in given), _lognormal)
    return form(given, base)


def _fixed(given: _Values, _base: Path | None) -> Sizes:
    size = number("sizes.fixed", only("sizes", given, required="fixed")["fixed"])
    return _checked("fixed", distribution="fixed", mean=size, maximum=max(4096, math.ceil(size)))


def _traced(given: _Values, base: Path | None) -> Sizes:
    options = only("sizes", given, required="trace", optional=("mean", "max"))
    source = source_of(str(options["trace"]), base)
    return _checked("mean", distribution="trace", source=source, mean=_mean(options, "mean"), maximum=_maximum(options))


def _quantiles(given: _Values, _base: Path | None) -> Sizes:
    values = _integers("sizes.quantiles", only("sizes", given, required="quantiles")["quantiles"])
    return _listed("quantiles", distribution="quantiles", values=values)


def _empirical(given: _Values, _base: Path | None) -> Sizes:
    options = only("sizes", given, required="values", optional=("weights",))
    values = _integers("sizes.values", options["values"])
    given_weights = _items("sizes.weights", options.get("weights", [1.0] * len(values)))
    weights = tuple(number("sizes.weights", one) for one in given_weights)
    return _listed("values", distribution="empirical", values=values, weights=weights)


def _lognormal(given: _Values, _base: Path | None) -> Sizes:
    options = only("sizes", given, required="lognormal_mean", optional=("sigma", "max"))
    sigma = number("sizes.sigma", options.get("sigma", 1.0))
    mean = _mean(options, "lognormal_mean")
    return _checked("lognormal_mean", distribution="lognormal", sigma=sigma, mean=mean, maximum=_maximum(options))


_SIZE_FORMS: Mapping[str, Callable[[_Values, Path | None], Sizes]] = {
    "fixed": _fixed,
    "trace": _traced,
    "quantiles": _quantiles,
    "values": _empirical,
}


def _listed(key: str, *, values: tuple[int, ...], **fields: Any) -> Sizes:
    """Sizes from a list of values, with their mean."""
    if any(value < 1 for value in values):
        raise InputError(f"sizes.{key}: must be whole and >= 1, but got {list(values)}")
    largest = max(4096, *values)
    sizes = _checked("mean", values=values, maximum=largest, **fields)
    # The compiled loops behind it take longer to load than a study takes to read.
    from serving_sim.sizes import mean_size

    return _checked("mean", values=values, maximum=largest, mean=mean_size(sizes), **fields)


def _arrivals(names: Mapping[str, str], **fields: Any) -> Arrivals:
    """The arrivals; a complaint about them names the study's keys, not the plan's."""
    try:
        return Arrivals(**fields)
    except InputError as error:
        key, _, complaint = str(error).partition(": ")
        raise InputError(f"arrivals.{names.get(key, key)}: {complaint}") from None


def _checked(mean_key: str, **fields: Any) -> Sizes:
    """The sizes; a complaint about them names the study's keys, not the plan's."""
    try:
        return Sizes(**fields)
    except InputError as error:
        key, _, complaint = str(error).partition(": ")
        name = {"mean": mean_key, "maximum": "max"}.get(key, key)
        raise InputError(f"sizes.{name}: {complaint.replace('maximum =', 'max =')}") from None


def _mean(options: _Values, key: str) -> float:
    return number(f"sizes.{key}", options.get(key, 128.0))


def _maximum(options: _Values) -> int:
    return int(number("sizes.max", options.get("max", 4096)))


def source_of(name: str, base: Path | None) -> str:
    """A built-in trace's name as it is; a file's path relative to the study's folder."""
    if base is not None and (base / name).is_file():
        return str(base / name)
    return name


def only(where: str, given: _Values, *, required: str, optional: tuple[str, ...] = ()) -> _Values:
    """`given`, with `required`, and no other keys than that and the optional ones."""
    known = (required, *optional)
    if unknown := sorted(set(given) - set(known)):
        raise InputError(
            f"{where}.{unknown[0]}: unknown key; known beside {required!r}: {', '.join(optional) or 'none'}"
        )
    if required not in given:
        raise InputError(f"{where}: {required} is missing")
    return given


def number(where: str, value: Any) -> float:
    """The value, if it is a finite number."""
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{where}: must be a finite number, but got {value!r}")
    return float(value)


def _items(where: str, values: Any) -> list[Any]:
    if not isinstance(values, list | tuple):
        raise InputError(f"{where}: must be a list, but got {values!r}")
    return list(values)


def _integers(where: str, values: Any) -> tuple[int, ...]:
    numbers = [number(where, value) for value in _items(where, values)]
    if not numbers or any(value != int(value) for value in numbers):
        raise InputError(f"{where}: must be a list of whole numbers, but got {values}")
    return tuple(int(value) for value in numbers)
