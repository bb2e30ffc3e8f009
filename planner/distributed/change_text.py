"""What-ifs as text: `nodes=32`, `network=2`, `dhe=user_*`, several at once joined by `,`."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import reduce
from typing import get_args

from planner.distributed.cluster import get_cluster
from planner.distributed.iteration.training_job import CollectiveDtype
from planner.distributed.tables import TableDtype
from planner.distributed.whatif import (
    Change,
    Scenario,
    with_batch,
    with_collectives,
    with_dhe,
    with_network,
    with_nodes,
    with_table_dtype,
    with_tier,
    with_transfers,
)
from profiles.errors import InputError, UnknownNameError
from profiles.units import parse_bytes
from representations.specs import DheSpec

__all__ = ["CHANGES", "change_from_text"]

_TRANSFERS = ("beside", "in_turn")


def change_from_text(text: str) -> Change:
    """The change that the text says; `KEY=VALUE,KEY=VALUE` makes both, in that order.

    Keys: `batch` (per rank), `nodes`, `network` (factor on the bandwidth between nodes), `transfers` (`beside` one
    another or `in_turn`), `cluster` (another one of the catalogue, with its own nodes), `collectives` (a type for both
    passes, or `float16/bfloat16`), `tables` (a type), `TIER_bytes` and `TIER_bandwidth` (bytes per second) of a memory
    tier, `dhe` (names or patterns joined by `+`, `all` for all; `:K/WIDTH/WIDTH` behind them sets hashes and hidden
    widths, 1024/256/128 by default).

    Raises:
        InputError: no such key, or a bad value; names it.
    """
    changes = [_change(part.strip()) for part in text.split(",")]
    return lambda scenario: reduce(lambda one, change: change(one), changes, scenario)


def _change(text: str) -> Change:
    key, sign, value = text.partition("=")
    if not sign or not value:
        raise InputError(f"what-if: must be KEY=VALUE, but got {text!r}")
    for suffix, figure in (("_bytes", "bytes"), ("_bandwidth", "bandwidth_bytes_per_s")):
        if key.endswith(suffix):
            return with_tier(key.removesuffix(suffix), **{figure: _bytes(key, value)})
    if key not in CHANGES:
        raise UnknownNameError("what-if", key, (*CHANGES, "TIER_bytes", "TIER_bandwidth"))
    return CHANGES[key](value)


def _batch(value: str) -> Change:
    return with_batch(_whole("batch", value))


def _nodes(value: str) -> Change:
    return with_nodes(_whole("nodes", value))


def _network(value: str) -> Change:
    try:
        factor = float(value)
    except ValueError:
        factor = 0.0
    if not 0 < factor < float("inf"):
        raise InputError(f"what-if: network: must be a factor > 0, but got {value!r}")
    return with_network(factor)


def _transfers(value: str) -> Change:
    if value not in _TRANSFERS:
        raise UnknownNameError("what-if: transfers", value, _TRANSFERS)
    return with_transfers(in_turn=value == "in_turn")


def _cluster(value: str) -> Change:
    cluster = get_cluster(value)

    def changed(one: Scenario) -> Scenario:
        rates = cluster.flops_per_s
        dtype = one.job.compute_dtype if one.job.compute_dtype in rates else next(iter(rates))
        return Scenario(job=replace(one.job, compute_dtype=dtype), cluster=cluster)

    return changed


def _collectives(value: str) -> Change:
    known = get_args(CollectiveDtype)
    forward, _, backward = value.partition("/")
    for name in (forward, backward or forward):
        if name not in known:
            raise UnknownNameError("what-if: collectives", name, known)
    return with_collectives(forward, backward or forward)  # type: ignore[arg-type] # both are among the known


def _tables(value: str) -> Change:
    known = get_args(TableDtype)
    if value not in known:
        raise UnknownNameError("what-if: tables", value, known)
    return with_table_dtype(value)  # type: ignore[arg-type] # it is among the known


def _dhe(value: str) -> Change:
    patterns, _, shape = value.partition(":")
    k, *hidden = [_whole("dhe", part) for part in (shape or "1024/256/128").split("/")]
    wanted = patterns.split("+")

    def changed(one: Scenario) -> Scenario:
        names = [table.name for table in one.job.tables]
        chosen = names if wanted == ["all"] else [name for name in names if any(fnmatchcase(name, p) for p in wanted)]
        if not chosen:
            raise UnknownNameError("what-if: dhe", patterns, names)
        return with_dhe(DheSpec(k=k, widths=tuple(hidden), dim=1), chosen)(one)

    return changed


CHANGES: Mapping[str, Callable[[str], Change]] = {
    "batch": _batch,
    "cluster": _cluster,
    "collectives": _collectives,
    "dhe": _dhe,
    "network": _network,
    "nodes": _nodes,
    "tables": _tables,
    "transfers": _transfers,
}


def _whole(key: str, value: str) -> int:
    if not value.isdecimal() or int(value) < 1:
        raise InputError(f"what-if: {key}: must be a whole number >= 1, but got {value!r}")
    return int(value)


def _bytes(key: str, value: str) -> int:
    try:
        amount = parse_bytes(value)
    except InputError as error:
        raise InputError(f"what-if: {key}: {error}") from None
    return amount
