"""Prices of device time by the fluid program of the last queries: their sizes, classes and rate.

They are found by an ascent of the dual's prices, a few steps now and then. A second set of prices belongs to a load far
above capacity: what a device is worth when it is crowded.

Shape suffixes as in `arrays`; R rows (class x bin of sizes; those with queries), G figures, O options.
"""

import math

import numpy as np

from serving_sim.kernels.arrays import Chunk, Floats, Ints, PathArrays, PathTables, Rule
from serving_sim.kernels.blocking import note_room
from serving_sim.kernels.chance import chance_in_time
from serving_sim.kernels.compiled import compiled, compiled_borrowing, compiled_helper
from serving_sim.kernels.market import CROWDED_LOAD, MEMORY_QUERIES, SIZE_BINS, Market

__all__ = ["add_to_mix", "note_mix", "renew", "renew_prices", "until_renewal"]

# Places of `Market.figures_G`: time that the rows span, queries seen before prices were last renewed, queries since,
# and how many until the next time.
_SPAN_MS, _SEEN, _SINCE, _EVERY = 0, 1, 2, 3
_RENEWED_EVERY, _FIRST_QUERIES, _STEPS, _FIRST_STEPS, _STEP = 256, 16, 4, 100, 0.1
_LOWEST_SHARE = 1e-6
_HALF_OCTAVES, _FIRST_HALF_OCTAVE = 51, 2 * 1023


@compiled_borrowing
def _bin(size: int) -> int:
    """Two to an octave: what a float keeps above the second bit of its fraction."""
    return int((np.float64(size).view(np.int64) >> _HALF_OCTAVES) - _FIRST_HALF_OCTAVE)


@compiled_helper
def _offers(
    mix_R: tuple[Floats, Floats], sla_ms_C: Floats, tables: PathTables
) -> tuple[Floats, Floats, Floats, Floats]:
    """Of the rows that have queries: how many, what an idle path takes, what it earns (correct predictions in time),
    and how likely it is in time.
    """
    weight_R, samples_R = mix_R
    service_ms_SP, ratio_P, device_P, accuracy_P, chance_PG = tables
    rows, paths = np.flatnonzero(weight_R), device_P.size
    filled_R, service_ms_RP, worth_RP, chance_RP = (
        np.empty(rows.size),
        np.empty((rows.size, paths)),
        np.empty((rows.size, paths)),
        np.empty((rows.size, paths)),
    )
    for filled, row in enumerate(rows):
        weight = weight_R[row]
        size, sla_ms = int(samples_R[row] / weight + 0.5), sla_ms_C[row // SIZE_BINS]
        filled_R[filled] = weight
        for path in range(paths):
            service_ms = service_ms_SP[size, path] * ratio_P[path]
            chance = chance_in_time(path, service_ms, service_ms, sla_ms, chance_PG)
            service_ms_RP[filled, path], chance_RP[filled, path] = service_ms, chance
            worth_RP[filled, path] = accuracy_P[path] * size * chance
    return filled_R, service_ms_RP, worth_RP, chance_RP


@compiled_borrowing
def _demand(
    offers_R: tuple[Floats, Floats, Floats, Floats], device_P: Ints, price_D: Floats, used_ms_D: Floats
) -> float:
    """The least price of serving all rows in time; `used_ms_D` receives the time that they take where each earns
    most.
    """
    weight_R, service_ms_RP, worth_RP, chance_RP = offers_R
    used_ms_D[:] = 0.0
    cost = 0.0
    for row in range(weight_R.size):
        weight = weight_R[row]
        best, best_path, least = 0.0, -1, np.inf
        for path in range(device_P.size):
            chance = chance_RP[row, path]
            if chance <= 0.0:
                continue
            price = price_D[device_P[path]] * service_ms_RP[row, path]
            least = min(least, price / chance)
            if worth_RP[row, path] - price > best:
                best, best_path = worth_RP[row, path] - price, path
        if best_path >= 0:
            used_ms_D[device_P[best_path]] += weight * service_ms_RP[row, best_path]
        cost += weight * least if least < np.inf else 0.0
    return cost


@compiled_helper
def _ascend(
    steps: int,
    load: float,
    price_D: Floats,
    highest_D: Floats,
    available_ms_D: Floats,
    offers_R: tuple[Floats, Floats, Floats, Floats],
    device_P: Ints,
) -> None:
    """Raise the price of a device that the rows want for longer than it is there at `load` times their rate, lower
    that of others (mirror descent on the dual of the fluid program).
    """
    used_ms_D = np.empty(price_D.size)
    for step in range(steps):
        _demand(offers_R, device_P, price_D, used_ms_D)
        for device in range(price_D.size):
            excess = min(used_ms_D[device] * load / available_ms_D[device] - 1.0, 1.0)
            price = price_D[device] * math.exp(_STEP / (1 + 0.1 * step) * excess)
            price_D[device] = min(max(price, _LOWEST_SHARE * highest_D[device]), highest_D[device])


@compiled_helper
def renew(
    options_O: Floats,
    market: Market,
    sla_ms_C: Floats,
    tables: PathTables,
    servers_D: Ints,
) -> None:
    """Prices of the mix as it is now; then let older queries count less."""
    price_D, crowded_D, highest_D, weight_R, samples_R, figures_G = market[:6]
    since = figures_G[_SINCE]
    figures_G[_SEEN] += since
    figures_G[_SINCE], figures_G[_EVERY] = 0.0, _RENEWED_EVERY if figures_G[_SEEN] >= _RENEWED_EVERY else _FIRST_QUERIES
    offers_R, device_P = _offers((weight_R, samples_R), sla_ms_C, tables), tables[2]
    available_ms_D = servers_D * figures_G[_SPAN_MS]
    steps = _STEPS if figures_G[_SEEN] >= options_O[MEMORY_QUERIES] / 2 else _FIRST_STEPS
    _ascend(steps, 1.0, price_D, highest_D, available_ms_D, offers_R, device_P)
    cost = _demand(offers_R, device_P, crowded_D, np.empty(crowded_D.size))
    if cost > 0:
        # By weak duality no rate above this one can be served in full.
        capacity = (crowded_D * available_ms_D).sum() / cost
        load = options_O[CROWDED_LOAD] * capacity
        _ascend(steps, load, crowded_D, highest_D, available_ms_D, offers_R, device_P)
    note_room(market, figures_G[_SPAN_MS], sla_ms_C, tables)
    if figures_G[_SEEN] > options_O[MEMORY_QUERIES]:
        kept = max(1.0 - since / options_O[MEMORY_QUERIES], 0.1)
        weight_R *= kept
        samples_R *= kept
        figures_G[_SPAN_MS] *= kept


@compiled_borrowing
def add_to_mix(class_: int, size: int, gap_ms: float, weight_R: Floats, samples_R: Floats, figures_G: Floats) -> bool:
    """Add a query to the mix that prices are made for; whether new prices are due."""
    row = class_ * SIZE_BINS + _bin(size)
    weight_R[row] += 1.0
    samples_R[row] += size
    figures_G[_SPAN_MS] += gap_ms
    figures_G[_SINCE] += 1.0
    return bool(figures_G[_SINCE] >= figures_G[_EVERY])


@compiled
def note_mix(chunk: Chunk, first: int, end: int, gap_ms: float, market: Market) -> None:
    """Add queries to the mix, for a loop that does not do so itself."""
    weight_R, samples_R, figures_G = market.weight_R, market.samples_R, market.figures_G
    for query in range(first, end):
        gap = chunk.gap_N[query] * gap_ms
        add_to_mix(chunk.class_N[query], chunk.size_N[query], gap, weight_R, samples_R, figures_G)


@compiled
def renew_prices(rule: Rule, paths: PathArrays, market: Market) -> None:
    """Prices of the mix as it is now."""
    tables = (paths.service_ms_SP, market.ratio_P, paths.device_P, paths.accuracy_P, rule.chance_PG)
    renew(rule.options_O, market, rule.limit_ms_CE[:, 0].copy(), tables, paths.servers_D)


def until_renewal(market: Market) -> int:
    """How many queries have to be added to the mix before prices are due."""
    return int(market.figures_G[_EVERY] - market.figures_G[_SINCE])
