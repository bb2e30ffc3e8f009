"""A sharding plan: which rectangle of which table lies on which rank and tier, and what each rank then costs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from planner.distributed.cluster import Cluster, read_cluster
from planner.distributed.tables import EmbeddingTable, require_unique_names
from profiles.edge import STRICT, parse_object, read_json, shown
from profiles.errors import InputError, UnknownNameError
from profiles.files import replace_file

__all__ = ["SCHEMA", "SCHEMES", "Placement", "Scheme", "Shard", "ShardingPlan", "load_sharding_plan"]

SCHEMA = "recplan.sharding/1"
Scheme = Literal[
    "table_wise", "row_wise", "column_wise", "data_parallel", "table_row_wise", "table_column_wise", "grid"
]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)


class Shard(NamedTuple):
    """The rows and columns (stops excluded) of a table that lie on one rank, in one tier of memory."""

    table: str
    rank: int
    row_start: int
    row_stop: int
    column_start: int
    column_stop: int
    tier: str

    @property
    def rows(self) -> int:
        """Rows of the piece."""
        return self.row_stop - self.row_start

    @property
    def columns(self) -> int:
        """Columns of the piece."""
        return self.column_stop - self.column_start


@dataclass(frozen=True, kw_only=True, slots=True)
class Placement:
    """Where one table lies. Its shards hold every value exactly once; data-parallel, every shard holds all of them."""

    table: EmbeddingTable
    scheme: Scheme
    shards: tuple[Shard, ...]

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES:
            raise UnknownNameError(f"table {self.table.name}: scheme", self.scheme, SCHEMES)
        if not self.shards:
            raise InputError(f"table {self.table.name}: must have at least one shard")
        if foreign := sorted({shard.table for shard in self.shards} - {self.table.name}):
            raise InputError(f"table {self.table.name}: has shards of {', '.join(foreign)}")
        if self.scheme == "data_parallel":
            whole = (0, self.table.rows, 0, self.table.dim)
            if any(shard[2:6] != whole for shard in self.shards):
                raise InputError(f"table {self.table.name}: data_parallel shards must be whole")
            if len({shard.rank for shard in self.shards}) < len(self.shards):
                raise InputError(f"table {self.table.name}: data_parallel shards must lie on different ranks")
        else:
            self._require_cover()

    def _require_cover(self) -> None:
        """`InputError` unless the shards' columns, and in each group of columns the rows, follow on without a gap."""
        rows_of: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for shard in self.shards:
            rows_of.setdefault(shard[4:6], []).append(shard[2:4])
        self._require_chain("columns", sorted(rows_of), self.table.dim)
        for rows in rows_of.values():
            self._require_chain("rows", sorted(rows), self.table.rows)

    def _require_chain(self, what: str, spans: Sequence[tuple[int, int]], stop: int) -> None:
        joined = [(0, 0), *spans, (stop, stop)]
        if any(before[1] != after[0] for before, after in pairwise(joined)) or any(a >= b for a, b in spans):
            listed = ", ".join(f"{a}..{b}" for a, b in spans[:4])
            raise InputError(f"table {self.table.name}: {what} must cover 0..{stop} exactly once, but got {listed}")

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks that hold a part, each once, in order."""
        return tuple(sorted({shard.rank for shard in self.shards}))


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardingPlan:
    """Tables on a cluster, for `batch_per_rank` samples per rank and iteration.

    `rank_ms` is what the shards cost each rank per iteration, by the costs the plan was made with; no plan on these
    costs has a slowest rank below `lower_bound_ms` (`bound_kind` says why). `assumptions` are to be shown beside it.
    """

    cluster: Cluster
    batch_per_rank: int
    placements: tuple[Placement, ...]
    rank_ms: tuple[float, ...]
    lower_bound_ms: float
    bound_kind: str
    plan_seconds: float = 0.0
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.batch_per_rank < 1:
            raise InputError(f"batch_per_rank: must be >= 1, but got {self.batch_per_rank}")
        if len(self.rank_ms) != self.cluster.ranks:
            raise InputError(f"rank_ms: must have {self.cluster.ranks} values, but got {len(self.rank_ms)}")
        require_unique_names(self.tables)
        ranks, tiers = self.cluster.ranks, {tier.name for tier in self.cluster.tiers}
        for placement in self.placements:
            for shard in placement.shards:
                if not 0 <= shard.rank < ranks:
                    raise InputError(
                        f"table {shard.table}: rank: must be in 0..{self.cluster.ranks - 1}, but got {shard.rank}"
                    )
                if shard.tier not in tiers:
                    raise UnknownNameError(f"table {shard.table}: tier", shard.tier, tiers)

    @property
    def tables(self) -> tuple[EmbeddingTable, ...]:
        """The tables, in order."""
        return tuple(placement.table for placement in self.placements)

    @property
    def slowest_ms(self) -> float:
        """What the slowest rank takes."""
        return max(self.rank_ms)

    @property
    def max_over_mean(self) -> float:
        """The slowest rank over the mean: balance alone, which a plan that does too much work has too."""
        mean = sum(self.rank_ms) / len(self.rank_ms)
        return self.slowest_ms / mean if mean else 1.0

    @property
    def max_over_lower_bound(self) -> float:
        """The slowest rank over what no plan beats."""
        return self.slowest_ms / self.lower_bound_ms if self.lower_bound_ms else 1.0

    def placement(self, table: str) -> Placement:
        """The placement of the table of that name."""
        for placement in self.placements:
            if placement.table.name == table:
                return placement
        raise UnknownNameError("table", table, [placement.table.name for placement in self.placements])

    def rank_bytes(self, tier: str) -> NDArray[np.int64]:
        """Bytes of weights and optimizer state that each rank [ranks] holds in a tier."""
        self.cluster.tier(tier)
        held = np.zeros(self.cluster.ranks, dtype=np.int64)
        for placement in self.placements:
            for shard in placement.shards:
                if shard.tier == tier:
                    held[shard.rank] += placement.table.piece_bytes(shard.rows, shard.columns)
        return held

    def to_object(self) -> dict[str, Any]:
        """The JSON form, with its schema; a shard is `[rank, row_start, row_stop, column_start, column_stop, tier]`."""
        return {
            "schema": SCHEMA,
            "cluster": self.cluster.to_object(),
            "batch_per_rank": self.batch_per_rank,
            "placements": [
                {
                    "table": asdict(placement.table),
                    "scheme": placement.scheme,
                    "shards": [list(shard[1:]) for shard in placement.shards],
                }
                for placement in self.placements
            ],
            "rank_ms": list(self.rank_ms),
            "lower_bound_ms": self.lower_bound_ms,
            "bound_kind": self.bound_kind,
            "plan_seconds": self.plan_seconds,
            "assumptions": list(self.assumptions),
        }

    @staticmethod
    def from_object(body: Mapping[str, Any], where: str = "plan") -> "ShardingPlan":
        """The plan in a JSON object.

        Raises:
            InputError: another schema, unknown keys, bad values, or shards that leave out or repeat a part of a table.
        """
        if body.get("schema") != SCHEMA:
            raise InputError(f"{where}: schema: must be {SCHEMA!r}, but got {shown(body.get('schema'))}")
        read = parse_object(_PlanBody, {key: value for key, value in body.items() if key != "schema"}, where)
        return ShardingPlan(
            cluster=read_cluster(read.cluster, f"{where}: cluster"),
            batch_per_rank=read.batch_per_rank,
            placements=tuple(part.placement() for part in read.placements),
            rank_ms=read.rank_ms,
            lower_bound_ms=read.lower_bound_ms,
            bound_kind=read.bound_kind,
            plan_seconds=read.plan_seconds,
            assumptions=read.assumptions,
        )

    def save(self, file: Path) -> None:
        """Write the JSON form, atomically."""
        replace_file(file, json.dumps(self.to_object(), allow_nan=False) + "\n")


def load_sharding_plan(file: Path | str) -> ShardingPlan:
    """The plan in a JSON file; errors name the file and the key."""
    return ShardingPlan.from_object(read_json(Path(file)), str(file))


@dataclass(frozen=True, kw_only=True, slots=True)
class _PlacementBody:
    __pydantic_config__: ClassVar = STRICT
    table: EmbeddingTable
    scheme: Scheme
    shards: tuple[tuple[int, int, int, int, int, str], ...]

    def placement(self) -> Placement:
        shards = tuple(Shard(self.table.name, *shard) for shard in self.shards)
        return Placement(table=self.table, scheme=self.scheme, shards=shards)


@dataclass(frozen=True, kw_only=True, slots=True)
class _PlanBody:
    __pydantic_config__: ClassVar = STRICT
    cluster: dict[str, Any]
    batch_per_rank: int
    placements: tuple[_PlacementBody, ...]
    rank_ms: tuple[float, ...]
    lower_bound_ms: float
    bound_kind: str
    plan_seconds: float
    assumptions: tuple[str, ...]
