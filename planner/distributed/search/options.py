"""Options: the ways to hold one table, or tables that belong together, with what each costs and takes.

An option is made of items. By its kind an item takes one rank (`ANYWHERE`), one rank of the same node as its siblings
(`IN_NODE`), every rank of one node alike (`NODE`), or every rank alike (`EVERYWHERE`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.distributed.pieces import Pieces
from planner.distributed.plan import SCHEMES
from planner.distributed.shard_costs import ShardCosts
from planner.distributed.splits import column_unit

__all__ = ["ANYWHERE", "EVERYWHERE", "IN_NODE", "NODE", "Options", "priced_options"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
ANYWHERE, IN_NODE, NODE, EVERYWHERE = range(4)
_KIND_OF = {
    "table_wise": ANYWHERE,
    "column_wise": ANYWHERE,
    "row_wise": ANYWHERE,
    "table_column_wise": IN_NODE,
    "table_row_wise": NODE,
    "grid": NODE,
    "data_parallel": EVERYWHERE,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """Options [O] in order of their unit: a table, or tables held together.

    Items of an option come in up to two sizes [O, 2], the larger first: `ms_OG` and `bytes_OGT` on each rank that one
    takes, and how many there are. `work_O` and `total_bytes_OT` are sums over all ranks, `largest_O` is the most on
    one rank.
    """

    unit_O: Integers
    key_OK: Integers
    kind_O: Integers
    ms_OG: Floats
    bytes_OGT: Floats
    count_OG: Integers
    work_O: Floats
    largest_O: Floats
    total_bytes_OT: Floats

    def __len__(self) -> int:
        return len(self.unit_O)

    def where(self, keep: NDArray[np.bool_] | Integers) -> "Options":
        """Some of the options."""
        if keep.dtype == np.bool_ and keep.all():
            return self
        return replace(self, **{name: getattr(self, name)[keep] for name in self.__dataclass_fields__})

    @classmethod
    def joined(cls, parts: Sequence["Options"]) -> "Options":
        """All options of several."""
        names = cls.__dataclass_fields__
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def priced_options(pieces_of: Pieces, menus: Sequence[Integers], costs: ShardCosts) -> Options:
    """Every entry of the tables' menus as an option whose unit is the table's index; unpriced ones are left out.

    `pieces_of` gives tables, cluster and batch; its own pieces are not looked at.
    """
    cuts = _Cuts.of(pieces_of, menus)
    pieces = cuts.pieces(pieces_of)
    priced = costs.price(pieces)
    present_ORC = cuts.counts > 0
    ms_ORC = np.zeros(present_ORC.shape)
    ms_ORC[present_ORC] = priced.total_ms
    bytes_ORCT = np.zeros((*present_ORC.shape, priced.tier_bytes_NT.shape[1]))
    bytes_ORCT[present_ORC] = priced.tier_bytes_NT
    options = _options(cuts, pieces_of.cluster.ranks, ms_ORC, bytes_ORCT)
    return options.where(np.isfinite(options.work_O))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Cuts:
    """The sizes [O, 2] of row and column parts of each option, and how many there are of each; the larger first."""

    table_O: Integers
    key_OK: Integers
    rows_OR: Integers
    columns_OC: Integers
    row_count_OR: Integers
    column_count_OC: Integers

    @classmethod
    def of(cls, pieces_of: Pieces, menus: Sequence[Integers]) -> "_Cuts":
        arrays = pieces_of.arrays
        table_O = np.repeat(np.arange(len(menus)), [len(menu) for menu in menus])
        key_OK = np.concatenate(list(menus))
        unit_O = np.array([column_unit(int(dim)) for dim in arrays.dim])[table_O]
        rows_OR, row_count_OR = _two_sizes(arrays.rows[table_O], key_OK[:, 2])
        units_OC, column_count_OC = _two_sizes(arrays.dim[table_O] // unit_O, key_OK[:, 3])
        return cls(
            table_O=table_O,
            key_OK=key_OK,
            rows_OR=rows_OR,
            columns_OC=units_OC * unit_O[:, None],
            row_count_OR=row_count_OR,
            column_count_OC=column_count_OC,
        )

    @property
    def counts(self) -> Integers:
        """Pieces of each size [O, 2, 2]."""
        return self.row_count_OR[:, :, None] * self.column_count_OC[:, None, :]

    def pieces(self, pieces_of: Pieces) -> Pieces:
        """The different pieces of each option."""
        option_N, row_N, column_N = np.nonzero(self.counts)
        return replace(
            pieces_of,
            table_N=self.table_O[option_N],
            scheme_N=self.key_OK[option_N, 0],
            tier_N=self.key_OK[option_N, 1],
            row_parts_N=self.key_OK[option_N, 2],
            column_parts_N=self.key_OK[option_N, 3],
            rows_N=self.rows_OR[option_N, row_N],
            columns_N=self.columns_OC[option_N, column_N],
        )


def _two_sizes(size_O: Integers, parts_O: Integers) -> tuple[Integers, Integers]:
    small_O, larger_O = np.divmod(size_O, parts_O)
    return np.stack([small_O + 1, small_O], axis=1), np.stack([larger_O, parts_O - larger_O], axis=1)


def _options(cuts: _Cuts, ranks: int, ms_ORC: Floats, bytes_ORCT: Floats) -> Options:
    scheme_O, row_parts_O = cuts.key_OK[:, 0], cuts.key_OK[:, 2]
    kind_O = np.array([_KIND_OF[scheme] for scheme in SCHEMES])[scheme_O]
    kind_O[(scheme_O == SCHEMES.index("row_wise")) & (row_parts_O == ranks)] = EVERYWHERE
    copies_O = np.where(scheme_O == SCHEMES.index("data_parallel"), ranks, 1)
    # Items differ by rows where those are cut over ranks, else by columns; a node takes its largest rows for all.
    by_rows_O = ((kind_O == ANYWHERE) & (row_parts_O > 1))[:, None]
    ms_OG = np.where(by_rows_O, ms_ORC.max(axis=2), ms_ORC.max(axis=1))
    bytes_OGT = np.where(by_rows_O[:, :, None], bytes_ORCT.max(axis=2), bytes_ORCT.max(axis=1))
    count_OG = np.where(by_rows_O, cuts.row_count_OR, cuts.column_count_OC)
    once_O = kind_O == EVERYWHERE
    ms_OG[once_O, 0] = ms_ORC[once_O].max(axis=(1, 2))
    bytes_OGT[once_O, 0] = bytes_ORCT[once_O].max(axis=(1, 2))
    count_OG[once_O] = (1, 0)
    count_ORC = cuts.counts
    return Options(
        unit_O=cuts.table_O,
        key_OK=cuts.key_OK,
        kind_O=kind_O,
        ms_OG=ms_OG,
        bytes_OGT=bytes_OGT,
        count_OG=count_OG,
        work_O=(ms_ORC * count_ORC).sum(axis=(1, 2)) * copies_O,
        largest_O=ms_ORC.max(axis=(1, 2)),
        total_bytes_OT=(bytes_ORCT * count_ORC[..., None]).sum(axis=(1, 2)) * copies_O[:, None],
    )
