"""Components that read the ids of a real access log, to hold against what is predicted from the log's exponent."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from profiles.component import Component, make_component
from profiles.errors import InputError
from representations.datasets.access_log import load_access_log
from representations.zipf import fit_log_exponent

__all__ = ["IDS_FROM", "log_exponent", "logged_ids", "with_logged_ids", "without_log"]

IDS_FROM = "ids_from"
Ids = NDArray[np.int64]


def with_logged_ids(component: Component, source: str) -> Component:
    """The look-up with ids of the log `scarab`, or of a file: a family of its own, at the log's Zipf exponent."""
    shape = dict(component.shape)
    if "zipf" not in shape:
        raise InputError(f"component {component.kind!r}: reads no ids of a table")
    shape |= {IDS_FROM: source, "zipf": log_exponent(source)}
    return make_component(component.kind, component.batch, shape, dtype=component.dtype, phase=component.phase)


def without_log(component: Component) -> Component:
    """The same look-up of ids drawn by Zipf's law at the log's exponent: what the cost model is asked."""
    shape = {name: value for name, value in component.shape if name != IDS_FROM}
    return make_component(component.kind, component.batch, shape, dtype=component.dtype, phase=component.phase)


@lru_cache(maxsize=4)
def log_exponent(source: str) -> float:
    """The exponent by which batches of the log touch as many distinct ids."""
    return fit_log_exponent(_labels(source))


def logged_ids(source: str, rng: np.random.Generator, rows: int, count: int) -> Ids:
    """`count` successive accesses of the log as rows [0, rows), from a random place on; a short log comes round again.

    Ids are numbered in the order of their labels; where there are more of them than rows, several share one.
    """
    labels_N = _labels(source)
    start = int(rng.integers(len(labels_N)))
    return np.take(labels_N, np.arange(start, start + count), mode="wrap") % rows


@lru_cache(maxsize=4)
def _labels(source: str) -> Ids:
    _, labels_N = np.unique(load_access_log(source), return_inverse=True)
    labels_N.flags.writeable = False
    return labels_N
