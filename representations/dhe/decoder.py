"""The second half of a DHE: the MLP from an id's K encoded hashes to its embedding."""

from collections import OrderedDict

from torch import nn

from representations.dhe.mish import Mish
from representations.specs import Activation, DheSpec

__all__ = ["build_activation", "build_decoder"]


def build_decoder(spec: DheSpec) -> nn.Sequential:
    """[N, k] -> [N, dim]: hidden layers 0, norm_0 (where asked), mish_0, 1, ..., and a linear layer at the end."""
    modules: OrderedDict[str, nn.Module] = OrderedDict()
    for i, (inputs, outputs) in enumerate(spec.layers):
        modules[str(i)] = nn.Linear(inputs, outputs)
        if i < len(spec.widths):
            if spec.norm == "batch":
                modules[f"norm_{i}"] = nn.BatchNorm1d(outputs)
            modules[f"{spec.activation}_{i}"] = build_activation(spec.activation)
    return nn.Sequential(modules)


def build_activation(name: Activation) -> nn.Module:
    """The module of that activation."""
    activations: dict[Activation, type[nn.Module]] = {"mish": Mish, "relu": nn.ReLU}
    return activations[name]()
