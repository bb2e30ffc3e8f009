"""What each kind of component does, by formula: FLOPs, bytes moved, parameters.

FLOPs are 2 per multiply-accumulate of matrix products, and the integer operations of hashes; activations, norms,
products and sums of gathered rows count none.
Bytes moved count every touched row, weight and activation once; ids are 64-bit integers, rows of a table have its
dtype, everything else is fp32.
"""

import math
from collections.abc import Callable, Collection, Mapping
from itertools import pairwise

from profiles.component import Component, Work
from profiles.errors import InputError, UnknownNameError
from representations.phases import BACKWARD_KINDS, OPTIMIZER_KINDS
from representations.specs import BYTES_PER_FLOAT, BYTES_PER_HASH, BYTES_PER_ROW_NUMBER, RobeSpec, TableSpec
from representations.training_work import backward_work, optimizer_work
from representations.zipf import expected_distinct

__all__ = ["BYTES_PER_ID", "rows_of_tables", "table_of", "work_of"]

BYTES_PER_ID = 8
# Multiply, add, a fold and a subtraction modulo p, a quotient and a remainder modulo m, scale and shift.
OPERATIONS_PER_HASH = 8
# Offset, two multiplications, two additions, two remainders; then one addition for each float of the block.
OPERATIONS_PER_BLOCK = 7
# A quotient, and what it leaves.
OPERATIONS_PER_SPLIT = 3
_OPERANDS = {"add": 2, "multiply": 2}
_ROWS_EACH = "rows_each"


def work_of(component: Component) -> Work:
    """The work of one component at its batch.

    Raises:
        UnknownNameError: a kind that is none of a recommendation model's.
        InputError: a shape key is missing, or the kind has no such pass.
    """
    if component.kind not in _FORMULAS:
        raise UnknownNameError("component kind", component.kind, _FORMULAS)
    if component.phase not in _KINDS_OF_PHASE:
        raise UnknownNameError("component phase", component.phase, _KINDS_OF_PHASE)
    if component.kind not in _KINDS_OF_PHASE[component.phase]:
        raise InputError(f"component {component.kind!r}: has no pass {component.phase!r}")
    try:
        forward = _FORMULAS[component.kind](component)
        if component.phase == "backward":
            return backward_work(component, forward)
        if component.phase == "optimizer":
            is_table = component.kind in ("embedding", "embedding_group")
            return optimizer_work(component, forward, table_of(component).row_bytes if is_table else 0)
    except KeyError as error:
        raise InputError(f"component {component.kind!r}: shape lacks {error}") from error
    return forward


def _linear(component: Component) -> Work:
    inputs, outputs = int(component["in_features"]), int(component["out_features"])
    weights = (inputs + 1) * outputs
    return Work(
        flops=2.0 * component.batch * inputs * outputs,
        bytes_moved=float((component.batch * (inputs + outputs) + weights) * BYTES_PER_FLOAT),
        parameter_bytes=weights * BYTES_PER_FLOAT,
    )


def _elementwise(component: Component) -> Work:
    width = int(component["width"])
    is_norm = component["function"] == "batch_norm"
    parameter_bytes = 4 * width * BYTES_PER_FLOAT + 8 if is_norm else 0
    tensors = 1 + _OPERANDS.get(str(component["function"]), 1)
    moved = float(tensors * component.batch * width * BYTES_PER_FLOAT + parameter_bytes)
    return Work(flops=0.0, bytes_moved=moved, parameter_bytes=parameter_bytes)


def _embedding(component: Component) -> Work:
    return _tables(component, 1)


def _embedding_group(component: Component) -> Work:
    return _tables(component, int(component["tables"]))


def _tables(component: Component, tables: int) -> Work:
    """`tables` equal tables, whose rows are given together; pooling is that of each."""
    rows, dim = int(component["rows"]), int(component["dim"])
    row_bytes = table_of(component).row_bytes
    ids = component.batch * float(component["pooling"])
    touched = _touched(component, tables, ids)
    out_bytes = component.batch * dim * BYTES_PER_FLOAT
    return Work(
        flops=0.0,
        bytes_moved=tables * (ids * BYTES_PER_ID + out_bytes) + touched * row_bytes,
        parameter_bytes=rows * row_bytes,
        input_bytes=round(tables * ids * BYTES_PER_ID),
    )


def _touched(component: Component, tables: int, ids: float) -> float:
    """Distinct rows of all tables."""
    rows, exponent = int(component["rows"]), float(component["zipf"])
    if _ROWS_EACH in dict(component.shape):
        return sum(expected_distinct(own, exponent, ids) for own in rows_of_tables(component))
    return tables * expected_distinct(max(1, rows // tables), exponent, ids)


def rows_of_tables(component: Component) -> tuple[int, ...]:
    """Of an `embedding_group`: as `rows_each` lists them, where the shape has it, else as equal as they can be."""
    rows, tables = int(component["rows"]), int(component["tables"])
    own = dict(component.shape).get(_ROWS_EACH)
    if own is None:
        return tuple(rows // tables + (i < rows % tables) for i in range(tables))
    each = tuple(int(one) for one in str(own).split())
    if len(each) != tables or sum(each) != rows:
        raise InputError(f"component 'embedding_group': rows_each must be {tables} that sum to {rows}, but got {own!r}")
    return each


def table_of(component: Component) -> TableSpec:
    """The spec of the table, or of each table, of an `embedding` or `embedding_group` component."""
    dtype, backend = component.dtype, component["backend"]
    return TableSpec(dim=int(component["dim"]), dtype=dtype, backend=backend)  # type: ignore[arg-type]  # checked there


def _id_split(component: Component) -> Work:
    moved = 3.0 * component.batch * BYTES_PER_ID
    return Work(flops=float(OPERATIONS_PER_SPLIT * component.batch), bytes_moved=moved, parameter_bytes=0)


def _id_map(component: Component) -> Work:
    """Ids in, the distinct entries of the map, row numbers out; ids are taken to be uniform, which touches the most."""
    ids = component.batch
    entries = expected_distinct(int(component["rows"]), 0.0, ids)
    moved = 2.0 * ids * BYTES_PER_ID + entries * BYTES_PER_ROW_NUMBER
    return Work(flops=0.0, bytes_moved=moved, parameter_bytes=int(component["rows"]) * BYTES_PER_ROW_NUMBER)


def _host_to_device(component: Component) -> Work:
    """Lengths and ids of every table, written by the packing and by the copy; what is copied is `input_bytes`."""
    sent = int(component["tables"]) * (component.batch + int(component["ids_per_table"])) * BYTES_PER_ID
    return Work(flops=0.0, bytes_moved=2.0 * sent, parameter_bytes=0, input_bytes=sent)


def _projection(component: Component) -> Work:
    inputs, outputs = int(component["in_features"]), int(component["out_features"])
    floats = component.batch * (inputs + outputs) + inputs * outputs
    return Work(
        flops=2.0 * component.batch * inputs * outputs,
        bytes_moved=float(floats * BYTES_PER_FLOAT),
        parameter_bytes=inputs * outputs * BYTES_PER_FLOAT,
    )


def _tensor_train(component: Component) -> Work:
    """Per id and core after the first, the chain so far times a matrix R x (q R): what is written down is counted."""
    count, rank = int(component["cores"]), int(component["rank"])
    p, q = ([int(component[f"{name}_{i}"]) for i in range(count)] for name in ("p", "q"))
    ranks = tuple(pairwise((1, *(rank,) * (count - 1), 1)))
    matrices = [before * q_t * after for q_t, (before, after) in zip(q, ranks, strict=True)]
    chains = [math.prod(q[: t + 1]) * ranks[t][1] for t in range(count)]
    flops = sum(2.0 * chain / ranks[t][1] * matrices[t + 1] for t, chain in enumerate(chains[:-1]))
    touched = sum(min(p_t, component.batch) * size for p_t, size in zip(p, matrices, strict=True))
    passed = component.batch * (2 * sum(chains[1:-1]) + chains[-1] + 2 * sum(matrices))
    return Work(
        flops=flops * component.batch,
        bytes_moved=float(component.batch * BYTES_PER_ID + (touched + passed) * BYTES_PER_FLOAT),
        parameter_bytes=sum(p_t * size for p_t, size in zip(p, matrices, strict=True)) * BYTES_PER_FLOAT,
        input_bytes=component.batch * BYTES_PER_ID,
    )


def _robe(component: Component) -> Work:
    dim, block = int(component["dim"]), int(component["block"])
    spec = RobeSpec(dim=dim, floats=int(component["floats"]), block=block)
    distinct = expected_distinct(int(component["rows"]), float(component["zipf"]), component.batch)
    floats = min(distinct * dim, spec.floats) + component.batch * dim
    operations = -(-dim // block) * OPERATIONS_PER_BLOCK + dim
    return Work(
        flops=float(component.batch * operations),
        bytes_moved=component.batch * BYTES_PER_ID + floats * BYTES_PER_FLOAT,
        parameter_bytes=spec.shared_bytes,
        input_bytes=component.batch * BYTES_PER_ID,
    )


def _dhe_encoder(component: Component) -> Work:
    k = int(component["k"])
    id_bytes, hash_bytes = component.batch * BYTES_PER_ID, k * BYTES_PER_HASH
    return Work(
        flops=float(OPERATIONS_PER_HASH * component.batch * k),
        bytes_moved=float(id_bytes + hash_bytes + component.batch * k * BYTES_PER_FLOAT),
        parameter_bytes=hash_bytes,
        input_bytes=id_bytes,
    )


def _interaction(component: Component) -> Work:
    if component["function"] == "concat":
        return _concat(component)
    if component["function"] == "fm":
        moved = float(component.batch * (int(component["width"]) + 1) * BYTES_PER_FLOAT)
        return Work(flops=0.0, bytes_moved=moved, parameter_bytes=0)
    if component["function"] == "torchrec_fm":
        # Joined first, and squared into a tensor of its own.
        moved = float(component.batch * (5 * int(component["width"]) + 1) * BYTES_PER_FLOAT)
        return Work(flops=0.0, bytes_moved=moved, parameter_bytes=0)
    vectors, dim = int(component["vectors"]), int(component["dim"])
    # The first vector is read by the products and copied beside them.
    floats = (vectors + 1) * dim + vectors * (vectors - 1) // 2
    return Work(
        flops=2.0 * component.batch * vectors * vectors * dim,
        bytes_moved=float(component.batch * floats * BYTES_PER_FLOAT),
        parameter_bytes=0,
    )


def _concat(component: Component) -> Work:
    moved = 2.0 * component.batch * int(component["width"]) * BYTES_PER_FLOAT
    return Work(flops=0.0, bytes_moved=moved, parameter_bytes=0)


_FORMULAS: Mapping[str, Callable[[Component], Work]] = {
    "linear": _linear,
    "elementwise": _elementwise,
    "embedding": _embedding,
    "embedding_group": _embedding_group,
    "host_to_device": _host_to_device,
    "id_map": _id_map,
    "id_split": _id_split,
    "projection": _projection,
    "tensor_train": _tensor_train,
    "robe": _robe,
    "dhe_encoder": _dhe_encoder,
    "interaction": _interaction,
    "concat": _concat,
}
_KINDS_OF_PHASE: Mapping[str, Collection[str]] = {
    "forward": _FORMULAS,
    "backward": BACKWARD_KINDS,
    "optimizer": OPTIMIZER_KINDS,
}
