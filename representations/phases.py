"""The backward pass and the optimizer's step of a component, as components of their own."""

from typing import Literal, get_args

from profiles.component import Component, make_component
from profiles.errors import InputError, UnknownNameError

__all__ = [
    "BACKWARD_KINDS",
    "DENSE_OPTIMIZERS",
    "OPTIMIZER_KINDS",
    "ROW_WISE_ADAGRAD",
    "DenseOptimizer",
    "backward_of",
    "forward_of",
    "optimizer_of",
]

DenseOptimizer = Literal["adagrad", "adam", "sgd"]
DENSE_OPTIMIZERS: tuple[DenseOptimizer, ...] = get_args(DenseOptimizer)
ROW_WISE_ADAGRAD = "row-wise-adagrad"
_DENSE = ("linear", "projection")
_TABLES = ("embedding", "embedding_group")
# Whose inputs are activations: the gradient with respect to them is what the pass before needs.
_OF_ACTIVATIONS = ("elementwise", "interaction")
BACKWARD_KINDS = (*_DENSE, *_TABLES, *_OF_ACTIVATIONS, "tensor_train")
OPTIMIZER_KINDS = (*_DENSE, *_TABLES)
_VIEWS = ("add", "concat")
_INPUT_GRADIENT, _OPTIMIZER = "input_gradient", "optimizer"


def backward_of(component: Component, *, input_gradient: bool = True) -> Component:
    """The backward pass of a component of a forward pass: gradients of its parameters and of its inputs.

    The first layer of a model needs none of its inputs (`input_gradient`); other kinds have it where their inputs are
    activations. Tables give sparse gradients; fbgemm's backward pass applies row-wise Adagrad as well.

    Raises:
        InputError: the component is no forward pass, or has no backward pass of its own: gradients of hashes do not
            exist, those of sums and concatenations are views.
    """
    _require_forward(component)
    shape = dict(component.shape)
    if component.kind not in BACKWARD_KINDS or shape.get("function") in _VIEWS:
        raise InputError(f"component {component.spec()}: has no backward pass of its own")
    if shape.get("backend") == "quantised":
        raise InputError("component 'embedding_group': quantised tables are not trained")
    if component.kind in _DENSE:
        shape[_INPUT_GRADIENT] = int(input_gradient)
    return make_component(component.kind, component.batch, shape, dtype=component.dtype, phase="backward")


def optimizer_of(component: Component, optimizer: DenseOptimizer | None = None) -> Component:
    """One step of the optimizer of a component's parameters.

    Tables have row-wise Adagrad over the rows that the batch touched; what a dense layer has, by default Adagrad, costs
    the same at any batch, so that its component has batch 1.

    Raises:
        InputError: no forward pass, no parameters to train, or a back end whose backward pass is the step as well.
    """
    _require_forward(component)
    shape = dict(component.shape)
    if component.kind not in OPTIMIZER_KINDS or shape.get("backend") in ("fbgemm", "quantised"):
        raise InputError(f"component {component.spec()}: has no optimizer's step of its own")
    if component.kind in _TABLES:
        if optimizer is not None:
            raise InputError(f"component {component.kind!r}: tables have row-wise Adagrad, but got {optimizer!r}")
        shape[_OPTIMIZER], batch = ROW_WISE_ADAGRAD, component.batch
    else:
        shape[_OPTIMIZER], batch = optimizer or "adagrad", 1
        if shape[_OPTIMIZER] not in DENSE_OPTIMIZERS:
            raise UnknownNameError("optimizer", str(optimizer), DENSE_OPTIMIZERS)
    return make_component(component.kind, batch, shape, dtype=component.dtype, phase="optimizer")


def forward_of(component: Component) -> Component:
    """The component whose backward pass or step this is."""
    shape = {name: value for name, value in component.shape if name not in (_INPUT_GRADIENT, _OPTIMIZER)}
    return make_component(component.kind, component.batch, shape, dtype=component.dtype)


def _require_forward(component: Component) -> None:
    if component.phase != "forward":
        raise InputError(f"component {component.kind!r}: phase must be 'forward', but got {component.phase!r}")
