"""From tables, a cluster and constraints to the problem that the search solves, in an order of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.distributed.cluster import Cluster
from planner.distributed.constraints import TableConstraint, TableRules, resolve_constraints
from planner.distributed.pieces import Pieces
from planner.distributed.search.canonical import canonical_ranks, canonical_tables
from planner.distributed.search.menu import menu_of
from planner.distributed.search.options import Options, priced_options
from planner.distributed.search.problem import Problem, make_problem
from planner.distributed.search.units import joined_units, unit_tables
from planner.distributed.shard_costs import ShardCosts
from planner.distributed.tables import EmbeddingTable, require_unique_names
from profiles.errors import InputError

__all__ = ["Prepared", "prepare"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """A problem, the tables [tables] in its order, the tables of each unit, and the cluster's rank at each place [P].

    `options` are all that were priced, also those with an item that overfills an empty rank.
    """

    problem: Problem
    options: Options
    tables: tuple[EmbeddingTable, ...]
    units: tuple[tuple[int, ...], ...]
    rank_of_place: NDArray[np.int64]
    cluster: Cluster

    @property
    def homeless_units(self) -> tuple[int, ...]:
        """Units that fit no rank even alone."""
        return tuple(np.flatnonzero(np.diff(self.problem.start_U1) == 0).tolist())

    def names(self, unit: int) -> tuple[str, ...]:
        """The names of a unit's tables."""
        return tuple(self.tables[member].name for member in self.units[unit])


def prepare(
    tables: Sequence[EmbeddingTable],
    cluster: Cluster,
    *,
    batch_per_rank: int,
    constraints: Sequence[TableConstraint],
    costs: ShardCosts,
) -> Prepared:
    """Check the input, enumerate every option of every table, and price it.

    Raises:
        InputError: no tables, a name twice, a batch below 1, bad constraints, or a table that no allowed scheme cuts.
    """
    if not tables:
        raise InputError("tables: must not be empty")
    if batch_per_rank < 1:
        raise InputError(f"batch_per_rank: must be >= 1, but got {batch_per_rank}")
    require_unique_names(tables)
    rules = resolve_constraints(constraints, tables, cluster)
    order = canonical_tables(tables, rules)
    tables, rules = tuple(tables[index] for index in order), tuple(rules[index] for index in order)
    rank_of_place = canonical_ranks(rules, cluster)
    units = unit_tables(rules)
    priced = priced_options(
        Pieces.none(tables, cluster, batch_per_rank), menu_of(tables, _in_groups(rules, units), cluster), costs
    )
    unpriced = set(range(len(tables))) - set(priced.unit_O.tolist())
    if unpriced:
        names = ", ".join(sorted(tables[index].name for index in unpriced))
        raise InputError(f"tables {names}: no way to cut and hold them that is allowed has a price")
    options = joined_units(priced, units, tables)
    return Prepared(
        problem=make_problem(options, len(units), cluster, _allowed(rules, units)[:, rank_of_place]),
        options=options,
        tables=tables,
        units=units,
        rank_of_place=rank_of_place,
        cluster=cluster,
    )


def _allowed(rules: Sequence[TableRules], units: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
    """The ranks [U, P] that all tables of a unit may lie on."""
    return np.stack([np.logical_and.reduce([rules[member].ranks_P for member in unit]) for unit in units])


def _in_groups(rules: Sequence[TableRules], units: Sequence[Sequence[int]]) -> list[TableRules]:
    """The rules, with those of tables that belong together narrowed to the ranks that all of them may lie on."""
    narrowed = list(rules)
    for unit in units:
        if len(unit) > 1:
            ranks_P = np.logical_and.reduce([rules[member].ranks_P for member in unit])
            if not ranks_P.any():
                raise InputError(f"together: tables of {rules[unit[0]].together!r} have no rank that all may lie on")
            for member in unit:
                narrowed[member] = replace(rules[member], ranks_P=ranks_P)
    return narrowed
