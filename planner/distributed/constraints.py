"""What a user asks of single tables: where they may lie, how they may be cut, which belong together."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from planner.distributed.cluster import Cluster
from planner.distributed.plan import SCHEMES, Scheme
from planner.distributed.tables import EmbeddingTable
from profiles.edge import STRICT
from profiles.errors import InputError, UnknownNameError

__all__ = ["TableConstraint", "TableRules", "resolve_constraints"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TableConstraint:
    """Asks something of the table of that name, or of all whose names match a pattern such as `user_*`.

    `ranks` and `hosts` pin: shards lie only there. `not_on` and `not_on_hosts` forbid. `schemes`, `tiers` (None: any)
    and `max_shards` narrow how a table is cut and held; a copy is not a shard. Tables with the same `together`
    get one scheme, and their shards lie on the same ranks. Several constraints on a table all hold.
    """

    __pydantic_config__: ClassVar = STRICT
    table: str
    ranks: tuple[int, ...] | None = None
    hosts: tuple[int, ...] | None = None
    not_on: tuple[int, ...] = ()
    not_on_hosts: tuple[int, ...] = ()
    schemes: tuple[Scheme, ...] | None = None
    max_shards: int | None = None
    tiers: tuple[str, ...] | None = None
    together: str | None = None

    def __post_init__(self) -> None:
        if not self.table:
            raise InputError("table: must not be empty")
        for key in ("ranks", "hosts", "schemes", "tiers"):
            if getattr(self, key) == ():
                raise InputError(f"{key}: must name at least one, or be left out (constraint on {self.table})")
        for scheme in self.schemes or ():
            if scheme not in SCHEMES:
                raise UnknownNameError(f"schemes (constraint on {self.table})", scheme, SCHEMES)
        if self.max_shards is not None and self.max_shards < 1:
            raise InputError(f"max_shards: must be >= 1, but got {self.max_shards} (constraint on {self.table})")

    def __str__(self) -> str:
        """What is asked, e.g. `t3: ranks=(0,), max_shards=2`."""
        parts = (f"{part.name}={getattr(self, part.name)!r}" for part in fields(self) if part.name != "table")
        asked = [part for part in parts if not part.endswith(("=None", "=()"))]
        return f"{self.table}: {', '.join(asked)}"

    def matches(self, name: str) -> bool:
        """Whether a table of that name is meant."""
        return self.table == name or fnmatchcase(name, self.table)


@dataclass(frozen=True, kw_only=True, slots=True)
class TableRules:
    """All that holds for one table: allowed ranks [ranks], schemes and tiers by index, most shards, its group."""

    ranks_P: NDArray[np.bool_]
    schemes: frozenset[int]
    tiers: frozenset[int]
    max_shards: int | None
    together: str | None

    @property
    def key(self) -> tuple[Any, ...]:
        """The rules as something that compares, without the group's name."""
        return (self.ranks_P.tobytes(), sorted(self.schemes), sorted(self.tiers), self.max_shards or 0)


def resolve_constraints(
    constraints: Sequence[TableConstraint], tables: Sequence[EmbeddingTable], cluster: Cluster
) -> tuple[TableRules, ...]:
    """The rules of each table, in order.

    Raises:
        InputError: a constraint that matches no table, a rank, host or tier that is not there, or rules of one table
            that leave it no rank, scheme or tier.
    """
    for constraint in constraints:
        _require_known(constraint, tables, cluster)
    free = TableRules(
        ranks_P=np.ones(cluster.ranks, dtype=np.bool_),
        schemes=frozenset(range(len(SCHEMES))),
        tiers=frozenset(range(len(cluster.tiers))),
        max_shards=None,
        together=None,
    )
    if not constraints:
        return (free,) * len(tables)
    return tuple(
        _rules(free, table, [one for one in constraints if one.matches(table.name)], cluster) for table in tables
    )


def _require_known(constraint: TableConstraint, tables: Sequence[EmbeddingTable], cluster: Cluster) -> None:
    where = f"constraint on {constraint.table}"
    if not any(constraint.matches(table.name) for table in tables):
        raise UnknownNameError(f"{where}: table", constraint.table, [table.name for table in tables])
    spans = {"ranks": cluster.ranks, "not_on": cluster.ranks, "hosts": cluster.nodes, "not_on_hosts": cluster.nodes}
    for key, count in spans.items():
        for index in getattr(constraint, key) or ():
            if not 0 <= index < count:
                raise InputError(f"{where}: {key}: must be in 0..{count - 1}, but got {index}")
    for tier in constraint.tiers or ():
        cluster.tier(tier)


def _rules(free: TableRules, table: EmbeddingTable, asked: Sequence[TableConstraint], cluster: Cluster) -> TableRules:
    if not asked:
        return free
    ranks_P = free.ranks_P.copy()
    host_P = np.arange(cluster.ranks) // cluster.devices_per_node
    schemes, tiers = set(free.schemes), set(free.tiers)
    for one in asked:
        if one.ranks is not None:
            ranks_P &= np.isin(np.arange(cluster.ranks), one.ranks)
        if one.hosts is not None:
            ranks_P &= np.isin(host_P, one.hosts)
        ranks_P &= ~np.isin(np.arange(cluster.ranks), one.not_on) & ~np.isin(host_P, one.not_on_hosts)
        schemes &= {SCHEMES.index(scheme) for scheme in one.schemes or SCHEMES}
        tiers &= {index for index, tier in enumerate(cluster.tiers) if one.tiers is None or tier.name in one.tiers}
    groups = {one.together for one in asked if one.together is not None}
    if len(groups) > 1:
        raise InputError(f"table {table.name}: together: must be one group, but got {', '.join(sorted(groups))}")
    for what, left in (("rank", ranks_P.any()), ("scheme", schemes), ("tier", tiers)):
        if not left:
            raise InputError(f"table {table.name}: its constraints leave no {what}: {'; '.join(map(str, asked))}")
    return TableRules(
        ranks_P=ranks_P,
        schemes=frozenset(schemes),
        tiers=frozenset(tiers),
        max_shards=min((one.max_shards for one in asked if one.max_shards is not None), default=None),
        together=next(iter(groups), None),
    )
