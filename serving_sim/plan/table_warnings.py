"""Warnings of odd latency tables that name the path whose table it is."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

from profiles.edge import parse_object
from serving_sim.plan.latency import LatencyTable

__all__ = ["warn_by_path"]

_Parsed = TypeVar("_Parsed")


def warn_by_path(parse: Callable[[], _Parsed], paths: Any) -> _Parsed:
    """What `parse` gives of a plan's JSON form; a table of its `paths` that is warned of is named by its key.

    Warnings that are of no table are passed on as they are.
    """
    parsed, heard = _heard(parse)
    of_tables = []
    # A table does not know whose it is, so that those of a plan in which one is odd are read once more.
    for key, table in _tables(paths) if heard else ():
        for one in _heard(partial(parse_object, LatencyTable, table))[1]:
            of_tables.append(str(one.message))
            warnings.warn(f"{key}.{one.message}", stacklevel=4)
    for one in heard:
        if str(one.message) not in of_tables:
            warnings.warn(one.message, stacklevel=4)
    return parsed


def _heard(parse: Callable[[], _Parsed]) -> tuple[_Parsed, list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        return parse(), heard


def _tables(paths: list[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    for path in paths:
        yield f"paths.{path['name']}.latency", path["latency"]
        for place, shard in enumerate(path.get("shards", ())):
            yield f"paths.{path['name']}.shards.{place}.latency", shard["latency"]
