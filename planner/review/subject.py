"""What is reviewed: a model as its components at any batch, whoever wrote it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from profiles.errors import InputError
from representations.components import PlacedComponent, components_of
from representations.specs import ModelSpec

if TYPE_CHECKING:
    from torch import nn

    from planner.cost_model.host_inputs import HostInputs
    from planner.cost_model.memory import ModelMemory
    from planner.study import DeviceSection

__all__ = ["Subject", "subject_of_module", "subject_of_spec"]

Zipf = Mapping[str, float] | float


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """A model under review.

    `place` gives its components at a batch, `inputs` what a host must send for it. `memory` predicts the peak of
    a forward pass, where the model is one of a spec. `batch` and `devices` are what is looked at where nobody says
    otherwise; `notes` are for the reader.
    """

    name: str
    batch: int
    parameter_bytes: int
    place: Callable[[int], tuple[PlacedComponent, ...]]
    inputs: "Callable[[int], HostInputs]"
    memory: "Callable[[int], ModelMemory] | None" = None
    devices: "tuple[DeviceSection, ...]" = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.batch < 1:
            raise InputError(f"batch: must be >= 1, but got {self.batch}")


def subject_of_spec(
    spec: ModelSpec,
    *,
    batch: int = 256,
    zipf: Zipf = 0.0,
    devices: "tuple[DeviceSection, ...]" = (),
    notes: tuple[str, ...] = (),
) -> Subject:
    """A model of ours; `zipf` is the exponent of the ids, for all features or by name."""
    from planner.cost_model.host_inputs import inputs_of
    from planner.cost_model.memory import forward_memory

    return Subject(
        name=spec.name,
        batch=batch,
        parameter_bytes=spec.parameter_bytes,
        place=lambda samples: components_of(spec, samples, zipf=zipf),
        inputs=lambda samples: inputs_of(spec.features, spec.dense_features, samples),
        memory=lambda samples: forward_memory(spec, samples),
        devices=devices,
        notes=notes,
    )


def subject_of_module(
    name: str,
    module: "nn.Module",
    *,
    batch: int = 256,
    pooling: Mapping[str, float] | float = 1.0,
    zipf: Zipf = 0.0,
    notes: tuple[str, ...] = (),
) -> Subject:
    """Someone else's model, its modules mapped to components; it may be on the meta device.

    Raises:
        InputError: a module of a class whose cost is not known; names its path and class.
    """
    from planner.cost_model.foreign import components_of_module, inputs_of_module

    # What cannot be mapped should be found out before anything is measured.
    components_of_module(module, batch, pooling=pooling, zipf=zipf)
    tensors = [*module.parameters(), *module.buffers()]
    return Subject(
        name=name,
        batch=batch,
        parameter_bytes=sum(tensor.numel() * tensor.element_size() for tensor in tensors),
        place=lambda samples: components_of_module(module, samples, pooling=pooling, zipf=zipf),
        inputs=lambda samples: inputs_of_module(module, samples, pooling),
        notes=notes,
    )
