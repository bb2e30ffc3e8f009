"""What backward passes and optimizers' steps do, by formula; conventions as in `representations.work`.

A product of matrices has two products behind it, one for each factor's gradient, each of its size. A gradient counts
as written once and read once; what is summed into it is not counted again.
"""

from collections.abc import Callable, Mapping

from profiles.component import Component, Work
from representations.phases import forward_of
from representations.specs import BYTES_PER_FLOAT
from representations.zipf import expected_distinct

__all__ = ["backward_work", "optimizer_work"]

BYTES_PER_ID = 8
# Floats read and written per parameter: gradient, parameter and state read; parameter and state written.
_FLOATS_PER_STEP = {"sgd": 3, "adagrad": 5, "adam": 7}
# Tensors of the input's size that are read or written: gradient in, what the forward pass kept, gradients out.
_PASSED = {"multiply": 5, "batch_norm": 3, "relu": 3, "mish": 3, "sigmoid": 3}


def backward_work(component: Component, forward: Work) -> Work:
    """The work of the backward pass of a component, given that of its forward pass."""
    return _BACKWARD[component.kind](component, forward)


def optimizer_work(component: Component, forward: Work, row_bytes: int = 0) -> Work:
    """The work of one step; for tables `row_bytes` is a row's size."""
    if component.kind in ("embedding", "embedding_group"):
        touched, ids = _touched(component), _ids(component)
        values = ids * (BYTES_PER_ID + int(component["dim"]) * BYTES_PER_FLOAT)
        moved = values + touched * (2 * int(component["dim"]) * BYTES_PER_FLOAT + 2 * row_bytes + 2 * BYTES_PER_FLOAT)
    else:
        moved = float(_FLOATS_PER_STEP[str(component["optimizer"])] * forward.parameter_bytes)
    return Work(flops=0.0, bytes_moved=moved, parameter_bytes=forward.parameter_bytes)


def _dense(component: Component, forward: Work) -> Work:
    inputs, outputs = int(component["in_features"]), int(component["out_features"])
    weights = forward.parameter_bytes // BYTES_PER_FLOAT
    has_input_gradient = bool(component["input_gradient"])
    floats = component.batch * (inputs + outputs) + weights
    if has_input_gradient:
        floats += component.batch * inputs + inputs * outputs
    return Work(
        flops=forward.flops * (1 + has_input_gradient),
        bytes_moved=float(floats * BYTES_PER_FLOAT),
        parameter_bytes=forward.parameter_bytes,
    )


def _elementwise(component: Component, forward: Work) -> Work:
    width, function = int(component["width"]), str(component["function"])
    floats = component.batch * width * _PASSED.get(function, 0)
    if function == "sum_pool":
        floats = round((component.batch / float(component["pooling"]) + component.batch) * width)
    return Work(
        flops=0.0,
        bytes_moved=float(floats * BYTES_PER_FLOAT + forward.parameter_bytes),
        parameter_bytes=forward.parameter_bytes,
    )


def _tables(component: Component, forward: Work) -> Work:
    """Sparse gradients: one row of values per id; in fbgemm's kernel each touched row and its state, there and back."""
    dim, rows = int(component["dim"]), int(component["rows"])
    tables = int(dict(component.shape).get("tables", 1))
    moved = tables * component.batch * dim * BYTES_PER_FLOAT + _ids(component) * BYTES_PER_ID
    if component["backend"] == "fbgemm":
        moved += _touched(component) * 2 * (forward.parameter_bytes / rows + BYTES_PER_FLOAT)
    else:
        moved += _ids(component) * (dim * forward.parameter_bytes / (rows * dim) + BYTES_PER_ID)
    return Work(flops=0.0, bytes_moved=float(moved), parameter_bytes=forward.parameter_bytes)


def _tensor_train(component: Component, forward: Work) -> Work:
    del component
    return Work(flops=2 * forward.flops, bytes_moved=2 * forward.bytes_moved, parameter_bytes=forward.parameter_bytes)


def _interaction(component: Component, forward: Work) -> Work:
    batch, shape = component.batch, dict(component.shape)
    if shape["function"] == "fm":
        floats = batch * (2 * int(shape["width"]) + 1)
    else:
        vectors, dim = int(shape["vectors"]), int(shape["dim"])
        floats = batch * (2 * vectors * dim + 2 * dim + vectors * vectors + vectors * (vectors - 1) // 2)
    return Work(flops=2 * forward.flops, bytes_moved=float(floats * BYTES_PER_FLOAT), parameter_bytes=0)


def _ids(component: Component) -> float:
    shape = dict(component.shape)
    return component.batch * float(shape["pooling"]) * int(shape.get("tables", 1))


def _touched(component: Component) -> float:
    """Distinct rows of all tables."""
    shape = dict(forward_of(component).shape)
    tables = int(shape.get("tables", 1))
    rows, ids = max(1, int(shape["rows"]) // tables), component.batch * float(shape["pooling"])
    return tables * expected_distinct(rows, float(shape["zipf"]), ids)


_BACKWARD: Mapping[str, Callable[[Component, Work], Work]] = {
    "linear": _dense,
    "projection": _dense,
    "elementwise": _elementwise,
    "embedding": _tables,
    "embedding_group": _tables,
    "tensor_train": _tensor_train,
    "interaction": _interaction,
}
