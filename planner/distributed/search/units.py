"""Tables that belong together become one unit, whose options are those that all of them have."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from planner.distributed.constraints import TableRules
from planner.distributed.search.options import Options
from planner.distributed.tables import EmbeddingTable
from profiles.errors import InputError

__all__ = ["joined_units", "unit_tables"]

Integers = NDArray[np.int64]


def unit_tables(rules: Sequence[TableRules]) -> tuple[tuple[int, ...], ...]:
    """The tables of each unit, by index, in order of the first one."""
    units: dict[object, list[int]] = {}
    for index, rule in enumerate(rules):
        units.setdefault(index if rule.together is None else rule.together, []).append(index)
    return tuple(tuple(unit) for unit in units.values())


def joined_units(options: Options, units: Sequence[tuple[int, ...]], tables: Sequence[EmbeddingTable]) -> Options:
    """Options of units from options of tables; items of tables held together lie on each other.

    Raises:
        InputError: tables of a unit have no option in common.
    """
    if len(units) == len(tables):
        return options
    unit_of = np.zeros(len(tables), dtype=np.int64)
    for number, unit in enumerate(units):
        unit_of[list(unit)] = number
    is_single = np.array([len(units[number]) == 1 for number in unit_of.tolist()])[options.unit_O]
    singles = options.where(is_single)
    parts = [replace(singles, unit_O=unit_of[singles.unit_O])]
    for number, unit in enumerate(units):
        if len(unit) > 1:
            parts.append(_together(options, number, unit, tables))
    joined = Options.joined(parts)
    return joined.where(np.argsort(joined.unit_O, kind="stable"))


def _together(options: Options, number: int, unit: Sequence[int], tables: Sequence[EmbeddingTable]) -> Options:
    by_key = [
        {tuple(options.key_OK[option].tolist()): int(option) for option in np.flatnonzero(options.unit_O == table)}
        for table in unit
    ]
    keys = [key for key in by_key[0] if all(key in other for other in by_key[1:])]
    if not keys:
        names = ", ".join(tables[table].name for table in unit)
        raise InputError(f"tables {names}: are to lie together, but no way to cut and hold them is open to all")
    rows_KM = np.array([[options_of[key] for options_of in by_key] for key in keys])
    count_K = options.count_OG[rows_KM[:, 0]].sum(axis=1)
    first_KM = (options.count_OG[rows_KM, 0] == 0).astype(np.int64)
    bytes_KGT = np.zeros((len(keys), *options.bytes_OGT.shape[1:]))
    bytes_KGT[:, 0] = options.bytes_OGT[rows_KM, first_KM].sum(axis=1)
    ms_KG = np.zeros((len(keys), 2))
    ms_KG[:, 0] = options.ms_OG[rows_KM, first_KM].sum(axis=1)
    return Options(
        unit_O=np.full(len(keys), number),
        key_OK=options.key_OK[rows_KM[:, 0]],
        kind_O=options.kind_O[rows_KM[:, 0]],
        ms_OG=ms_KG,
        bytes_OGT=bytes_KGT,
        count_OG=np.stack([count_K, np.zeros_like(count_K)], axis=1),
        work_O=options.work_O[rows_KM].sum(axis=1),
        largest_O=options.largest_O[rows_KM].sum(axis=1),
        total_bytes_OT=options.total_bytes_OT[rows_KM].sum(axis=1),
    )
