"""What each kind of component does, by formula: FLOPs, bytes moved, parameters.

FLOPs are 2 per multiply-accumulate of matrix products, and 8 integer operations per hash of a DHE encoder; activations,
norms and sums of gathered rows count none.
Bytes moved count every touched row, weight and activation once; ids are 64-bit integers, everything else fp32.
"""

from collections.abc import Callable, Mapping

from profiles.component import Component, Work
from profiles.errors import InputError, UnknownNameError
from representations.specs import BYTES_PER_FLOAT, BYTES_PER_HASH
from representations.zipf import expected_distinct

__all__ = ["BYTES_PER_ID", "work_of"]

BYTES_PER_ID = 8
# Multiply, add, a fold and a subtraction modulo p, a quotient and a remainder modulo m, scale and shift.
OPERATIONS_PER_HASH = 8


def work_of(component: Component) -> Work:
    """The work of one component at its batch.

    Raises:
        UnknownNameError: a kind that is none of a recommendation model's.
        InputError: a shape key is missing or the pass is not `forward`.
    """
    if component.kind not in _FORMULAS:
        raise UnknownNameError("component kind", component.kind, _FORMULAS)
    if component.phase != "forward":
        raise InputError(f"component {component.kind!r}: phase must be 'forward', but got {component.phase!r}")
    try:
        return _FORMULAS[component.kind](component)
    except KeyError as error:
        raise InputError(f"component {component.kind!r}: shape lacks {error}") from error


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
    moved = 2.0 * component.batch * width * BYTES_PER_FLOAT + parameter_bytes
    return Work(flops=0.0, bytes_moved=moved, parameter_bytes=parameter_bytes)


def _embedding(component: Component) -> Work:
    rows, dim = int(component["rows"]), int(component["dim"])
    ids = component.batch * float(component["pooling"])
    touched = expected_distinct(rows, float(component["zipf"]), ids)
    return Work(
        flops=0.0,
        bytes_moved=ids * BYTES_PER_ID + (touched + component.batch) * dim * BYTES_PER_FLOAT,
        parameter_bytes=rows * dim * BYTES_PER_FLOAT,
        input_bytes=round(ids * BYTES_PER_ID),
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
    vectors, dim = int(component["vectors"]), int(component["dim"])
    floats = vectors * dim + vectors * (vectors - 1) // 2
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
    "dhe_encoder": _dhe_encoder,
    "interaction": _interaction,
    "concat": _concat,
}
