"""What kernels do beyond arithmetic and traffic, as columns [N] of the roofline: tiles, remainders, copies row by row.

Names are `unit/what`, and the unit says what a constant of it may be (see `roofline`): `call`, `row` (of the batch),
`number` (handled one by one), `flop` (at a rate below the full one), `product` (a FLOP of a plain loop), `traffic` (MiB
between two calls), `edge` (a byte beyond a cache).

Products run as torch and MKL run them on x86 cores, where it was looked at: outputs in tiles of 24, then of 16, 8 and
4, then one by one; fewer than 12 outputs by dot products, without tiles; up to three or eight rows without packing the
weights, nor any where inputs are 24 times as long as there are rows and outputs. A bias fills the outputs before the
product reads and writes them. Batched products of fewer than 400 multiplications are plain loops
(aten/src/ATen/native/LinearAlgebra.cpp), whose outputs cost something each. A concatenation copies each piece of each
row in whole vectors, what is left number by number (aten/src/ATen/native/cpu/CatKernel.cpp). Other devices have
constants near 0 for what they do not do.
"""

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.estimates import Floats
from planner.cost_model.features import BYTES_PER_MIB, CostDrivers
from representations.specs import BYTES_PER_FLOAT

__all__ = ["inner_bytes", "kernel_terms", "tiled_flops"]

_TILE, _WIDE_TILE = 16, 24
_REMAINDERS = (4, 8, 16)
# Fewer outputs are dot products; so many rows are products with vectors, one after the other.
_FEWEST_TILED = 12
_UNPACKED_ROWS = 3
# Inputs so many times as long as there are rows and outputs take a way of their own, without packing.
_DEEP = 24
_TINY_PRODUCT = 400
_VECTOR = 8
_LINE_BYTES = 64
# More rows than these may have the weights read or packed anew.
_ROW_STEPS = (1, 3, 8)
# Doublings of MiB of traffic, up to all that caches of a core or a chip hold.
_TRAFFIC_STEPS = 8
# Powers of two of bytes that caches have, and how sharp the edges are.
_STREAM_EDGES = (20, 21, 22)
_PACKED_EDGES = (20, 21)
_LOOKUP_EDGES = (15, 17, 19, 20, 21, 23, 25)
_EDGE_WIDTH = 0.35
# Dimensions that count pieces, each of which costs a copy of its own in every row of the batch.
_COUNTS = frozenset({"parts", "vectors"})
# Dimensions that plain loops run over, which do what is left of whole vectors one by one.
_LOOPS = frozenset({"k"})

Terms = dict[str, Floats]


def kernel_terms(drivers: CostDrivers) -> Terms:
    """Columns [N], each of which is >= 0 and does not fall as the batch grows."""
    names = set(drivers.names)
    terms: Terms = {}
    for name in (name for name in drivers.names if name in _COUNTS):
        terms[f"row/{name}"] = drivers.batch * drivers.size_of(name)
        terms[f"call/{name}"] = drivers.size_of(name)
    if {"parts", "width"} <= names:
        terms |= _copies(drivers)
    if "context_bytes" in names:
        terms |= _behind_traffic(drivers)
    if "context_frees" in names:
        # Fresh pages.
        terms["edge/frees"] = drivers.size_of("context_frees") * drivers.bytes_N
    if {"pooling", "dim"} <= names:
        terms |= _lookups(drivers)
    if not drivers.flops_N.any():
        return terms
    if {"in_features", "out_features"} <= names:
        return terms | _products(drivers)
    if {"vectors", "dim"} <= names:
        return terms | _batched_products(drivers)
    return terms | _any_products(drivers)


def tiled_flops(drivers: CostDrivers) -> Floats:
    """[N]: FLOPs at the full rate: not those of few outputs, which wait for their inputs, nor of plain loops."""
    names = set(drivers.names)
    if {"in_features", "out_features"} <= names:
        return drivers.flops_N * (drivers.size_of("out_features") >= _FEWEST_TILED)
    if {"vectors", "dim"} <= names:
        return drivers.flops_N * (drivers.size_of("vectors") >= _FEWEST_TILED) * ~_is_tiny(drivers)
    return drivers.flops_N


def _behind_traffic(drivers: CostDrivers) -> Terms:
    """Of what passes the caches between two calls: any function of it that does not fall, per call and per byte."""
    traffic_mib = drivers.size_of("context_bytes") / BYTES_PER_MIB
    doublings = np.log2(1 + traffic_mib)
    terms: Terms = {"traffic": traffic_mib, "traffic/any": (traffic_mib > 0).astype(np.float64)}
    for step in range(_TRAFFIC_STEPS):
        ramp = np.clip(doublings - step, 0.0, 1.0)
        terms[f"traffic/step/{step}"] = ramp
        terms[f"edge/traffic/{step}"] = drivers.bytes_N * ramp
    return terms


def _lookups(drivers: CostDrivers) -> Terms:
    """Of rows read by id: whole vectors of each, and its cache lines where what is touched outgrows a cache."""
    vectors = drivers.ids_N * np.ceil(drivers.size_of("dim") / _TILE)
    lines = drivers.ids_N * (1 + drivers.size_of("dim") * BYTES_PER_FLOAT / _LINE_BYTES)
    # A single bag of several ids is not cut into bags.
    terms: Terms = {"number/vectors": vectors, "call/batched": (drivers.batch > 1).astype(np.float64)}
    for doublings in _LOOKUP_EDGES:
        terms[f"number/lines/{doublings}"] = lines * _share_beyond(drivers.bytes_N, doublings)
    return terms


def inner_bytes(drivers: CostDrivers) -> Floats:
    """[N]: what a component writes and reads between its inputs and its output, by formula."""
    if not {"vectors", "dim"} <= set(drivers.names):
        return np.zeros(len(drivers.batch))
    vectors, dim = drivers.size_of("vectors"), drivers.size_of("dim")
    # Stacked vectors and all their products.
    inner: Floats = 2 * BYTES_PER_FLOAT * drivers.batch * (vectors * dim + vectors**2)
    return inner


def _copies(drivers: CostDrivers) -> Terms:
    """Of each row's parts, `width` numbers split as evenly as they can be."""
    parts, width = drivers.size_of("parts"), drivers.size_of("width")
    narrow = np.floor(width / parts)
    wider = width - narrow * parts
    left = [(count, size % _VECTOR) for count, size in ((parts - wider, narrow), (wider, narrow + 1))]
    return {
        "number/left": drivers.batch * sum(count * size for count, size in left),
        "row/left": drivers.batch * sum(count * (size > 0) for count, size in left),
        # No whole vector, and loops too short to foresee.
        "row/short": drivers.batch * parts * (narrow < _VECTOR),
        "number/short": drivers.batch * width * (narrow < _VECTOR),
    }


def _products(drivers: CostDrivers) -> Terms:
    """Of a linear layer."""
    batch, flops, outputs = drivers.batch, drivers.flops_N, drivers.size_of("out_features")
    weights = 2 * drivers.size_of("in_features") * outputs
    is_vector, is_tiled = outputs == 1, outputs >= _FEWEST_TILED
    is_narrow = ~is_vector & ~is_tiled
    is_packed = batch > _UNPACKED_ROWS
    is_shallow = drivers.size_of("in_features") < _DEEP * np.maximum(batch, outputs)
    tiled, narrow = flops * is_tiled, flops * is_narrow
    return {
        "call/packed": 1.0 * (is_tiled & is_packed),
        "call/narrow": 1.0 * (is_narrow & is_packed),
        # What is read of the weights, whichever kernel reads them.
        "flop/weights": weights * np.minimum(batch, _UNPACKED_ROWS) * ~is_vector,
        **{f"flop/weights/{rows}": weights * is_tiled * (batch > rows) * is_shallow for rows in _ROW_STEPS},
        **_packed(drivers.parameter_bytes_N, batch),
        "flop/vector": flops * is_vector,
        "row/vector": batch * is_vector,
        **_narrow_terms(narrow, outputs, batch * is_narrow),
        "flop/narrow/in_features": narrow / drivers.size_of("in_features"),
        "row/tiles": batch * is_tiled * np.ceil(outputs / _WIDE_TILE),
        **{f"row/left/{size}": batch * is_tiled * (outputs % size > 0) for size in _REMAINDERS},
        # Rows of such outputs begin anywhere in a cache line.
        "number/unaligned": batch * outputs * is_tiled * (outputs % _TILE > 0),
        "number/outputs": np.minimum(batch, _ROW_STEPS[-1]) * outputs * is_tiled,
        "flop/one/in_features": np.where(drivers.size_of("in_features") == 1, flops, 0.0),
        "flop/over/in_features": tiled / drivers.size_of("in_features"),
        "flop/over/out_features": tiled / outputs,
        **_tile_terms(tiled, outputs),
        **_streams(batch * outputs, drivers.parameter_bytes_N),
        **_cold_weights(drivers),
    }


def _packed(weight_bytes_N: Floats, batch: Floats) -> Terms:
    """Weights beyond a cache where they are packed."""
    return {
        f"edge/packed/{rows}/{doublings}": weight_bytes_N * (batch > rows) * _share_beyond(weight_bytes_N, doublings)
        for rows in _ROW_STEPS[1:]
        for doublings in _PACKED_EDGES
    }


def _streams(outputs_N: Floats, weight_bytes_N: Floats) -> Terms:
    """Outputs and weights beyond each cache."""
    terms: Terms = {}
    for name, bytes_N in (("outputs", BYTES_PER_FLOAT * outputs_N), ("weights", weight_bytes_N)):
        for doublings in _STREAM_EDGES:
            terms[f"edge/{name}/{doublings}"] = bytes_N * _share_beyond(bytes_N, doublings)
    return terms


def _share_beyond(bytes_N: Floats, doublings: int) -> Floats:
    share: Floats = 1 / (1 + np.exp((doublings - np.log2(np.maximum(bytes_N, 1.0))) / _EDGE_WIDTH))
    return share


def _cold_weights(drivers: CostDrivers) -> Terms:
    """Weights that other traffic displaced from the caches, where the rows were measured behind some."""
    if "context_bytes" not in drivers.names:
        return {}
    traffic_mib = drivers.size_of("context_bytes") / BYTES_PER_MIB
    return {"edge/weights": drivers.parameter_bytes_N * np.log1p(traffic_mib)}


def _batched_products(drivers: CostDrivers) -> Terms:
    """Of all pairs of `vectors` in each row of the batch."""
    batch, flops = drivers.batch, drivers.flops_N
    vectors, dim = drivers.size_of("vectors"), drivers.size_of("dim")
    pairs = vectors * (vectors - 1) / 2
    is_tiny, is_deep = _is_tiny(drivers), ~_is_tiny(drivers) & (dim >= _DEEP * vectors)
    is_tiled = ~is_tiny & (vectors >= _FEWEST_TILED)
    is_narrow = ~is_tiny & ~is_tiled & ~is_deep
    return {
        "number/pairs": batch * pairs,
        "number/left": batch * (dim % _VECTOR + pairs % _VECTOR),
        "number/left_of_vectors": batch * vectors * (dim % _VECTOR),
        "product/tiny": flops * is_tiny,
        "number/tiny": batch * is_tiny * vectors**2,
        "row/deep": batch * is_deep,
        "flop/deep": flops * is_deep,
        "flop/deep/vectors": flops * is_deep / vectors,
        "flop/over/vectors": flops / vectors,
        "flop/over/dim": flops / dim,
        **_narrow_terms(flops * is_narrow, vectors, batch * is_narrow),
        "number/narrow": batch * is_narrow * vectors**2,
        "number/narrow_left": batch * is_narrow * vectors * (vectors % 4),
        "row/tiles": batch * is_tiled,
        **_tile_terms(flops * is_tiled, vectors),
    }


def _is_tiny(drivers: CostDrivers) -> NDArray[np.bool_]:
    is_tiny: NDArray[np.bool_] = drivers.size_of("vectors") ** 2 * drivers.size_of("dim") < _TINY_PRODUCT
    return is_tiny


def _narrow_terms(flops: Floats, outputs: Floats, rows: Floats) -> Terms:
    return {
        "flop/narrow": flops,
        "flop/narrow/outputs": flops / outputs,
        "flop/narrow/left": flops * (outputs % 4) / outputs,
        "row/narrow": rows,
    }


def _tile_terms(flops: Floats, outputs: Floats) -> Terms:
    """FLOPs on what fills no tile, and on what pads one."""
    terms = {f"flop/left/{size}": flops * (outputs % size) / outputs for size in _REMAINDERS}
    terms["flop/left/any"] = flops * (outputs % 4 > 0) / outputs
    return terms | {f"flop/padding/{size}": flops * _padding(outputs, size) for size in (_TILE, _WIDE_TILE)}


def _any_products(drivers: CostDrivers) -> Terms:
    """Of kinds whose kernels nobody looked at: what each dimension loses below tiles, and what pads it to one."""
    terms = {}
    is_vector: NDArray[np.bool_] = (drivers.dimensions_ND[:, 1:] == 1).any(axis=1)
    tiled = np.where(is_vector, 0.0, drivers.flops_N)
    for name in drivers.names:
        sizes = np.maximum(drivers.size_of(name), 1.0)
        terms[f"flop/over/{name}"] = tiled / sizes
        if name != "batch":
            terms[f"flop/one/{name}"] = np.where(sizes == 1, drivers.flops_N, 0.0)
            terms[f"flop/padding/{name}"] = tiled * _padding(sizes, _TILE)
        if name in _LOOPS:
            terms[f"flop/left/{name}"] = tiled * (sizes % _TILE) / sizes
    return terms


def _padding(sizes: Floats, tile: int) -> Floats:
    padding: Floats = np.ceil(sizes / tile) * tile / sizes - 1
    return padding
