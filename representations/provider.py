"""Components of recommendation models as modules with inputs, so that they can be measured alone."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from profiles.component import Component, Work
from profiles.errors import InputError, UnknownNameError
from profiles.providers import BuiltComponent
from representations.ids import check_ids
from representations.specs import Feature, TableSpec
from representations.work import work_of
from representations.zipf import sample_ids

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["RecommendationProvider"]


class RecommendationProvider:
    """Builds every kind that `components_of` places. Stateless, so that it travels to any worker."""

    def build(self, component: Component, seed: int) -> BuiltComponent:
        """The module in evaluation mode and its inputs: standard normal activations, ids uniform or Zipf over rows.

        Equal seeds give equal weights and inputs; torch's own generator is left as it was.

        Raises:
            UnknownNameError: an unknown kind, function or back end.
            InputError: a shape that lacks a key.
        """
        import torch

        if component.kind not in _BUILDERS:
            raise UnknownNameError("component kind", component.kind, _BUILDERS)
        with torch.random.fork_rng(devices=()):
            torch.default_generator.manual_seed(seed)
            try:
                module, args = _BUILDERS[component.kind](component, np.random.default_rng(seed))
            except KeyError as error:
                raise InputError(f"component {component.kind!r}: shape lacks {error}") from error
        return BuiltComponent(module=module.eval(), args=args)

    def work(self, component: Component) -> Work:
        """FLOPs and bytes by formula."""
        return work_of(component)


Built = tuple["nn.Module", tuple[Any, ...]]
Builder = Callable[[Component, np.random.Generator], Built]


def _linear(component: Component, rng: np.random.Generator) -> Built:
    from torch import nn

    inputs, outputs = int(component["in_features"]), int(component["out_features"])
    return nn.Linear(inputs, outputs), (_normal(rng, component.batch, inputs),)


def _elementwise(component: Component, rng: np.random.Generator) -> Built:
    from torch import nn

    function, width = str(component["function"]), int(component["width"])
    if function == "sum_pool":
        return _sum_pool(component, rng)
    modules: dict[str, Callable[[], nn.Module]] = {
        "relu": nn.ReLU,
        "mish": nn.Mish,
        "sigmoid": nn.Sigmoid,
        "batch_norm": lambda: nn.BatchNorm1d(width),
    }
    if function not in modules:
        raise UnknownNameError("elementwise function", function, (*modules, "sum_pool"))
    return modules[function](), (_normal(rng, component.batch, width),)


def _sum_pool(component: Component, rng: np.random.Generator) -> Built:
    from representations.dhe.embedding import SumPool

    bags = max(1, round(component.batch / float(component["pooling"])))
    rows_ND = _normal(rng, component.batch, int(component["width"]))
    return SumPool(), (rows_ND, _offsets(bags, component.batch))


def _embedding(component: Component, rng: np.random.Generator) -> Built:
    import torch

    from representations.table import EmbeddingTable

    if component["backend"] != "torch":
        raise UnknownNameError("embedding backend", str(component["backend"]), ("torch",))
    feature = Feature(name="ids", cardinality=int(component["rows"]), pooling=float(component["pooling"]))
    table = EmbeddingTable(feature, TableSpec(dim=int(component["dim"])))
    count = max(1, round(component.batch * feature.pooling))
    ids_N = sample_ids(rng, feature.cardinality, float(component["zipf"]), count)
    check_ids(ids_N[:, None], (feature,))
    if feature.pooling == 1:
        return table, (torch.from_numpy(ids_N),)
    return table, (torch.from_numpy(ids_N), _offsets(component.batch, count))


def _dhe_encoder(component: Component, rng: np.random.Generator) -> Built:
    import torch

    from representations.dhe.encoder import DheEncoder

    rows, transform = int(component["rows"]), str(component["transform"])
    if transform not in ("uniform", "gaussian"):
        raise UnknownNameError("dhe transform", transform, ("uniform", "gaussian"))
    encoder = DheEncoder(int(component["k"]), rows, transform="uniform" if transform == "uniform" else "gaussian")
    return encoder, (torch.from_numpy(rng.integers(0, rows, component.batch)),)


def _interaction(component: Component, rng: np.random.Generator) -> Built:
    from representations.interaction import DotInteraction

    function, vectors = str(component["function"]), int(component["vectors"])
    if function == "concat":
        return _joined(component, vectors, rng)
    if function != "dot":
        raise UnknownNameError("interaction function", function, ("concat", "dot"))
    dim = int(component["dim"])
    return DotInteraction(), tuple(_normal(rng, component.batch, dim) for _ in range(vectors))


def _concat(component: Component, rng: np.random.Generator) -> Built:
    return _joined(component, int(component["parts"]), rng)


def _joined(component: Component, parts: int, rng: np.random.Generator) -> Built:
    from representations.interaction import Concat

    width = int(component["width"])
    if not 1 <= parts <= width:
        raise InputError(f"component {component.kind!r}: width {width} cannot be split into {parts} parts")
    widths = [width // parts + (i < width % parts) for i in range(parts)]
    return Concat(), tuple(_normal(rng, component.batch, part) for part in widths)


def _normal(rng: np.random.Generator, rows: int, width: int) -> "Tensor":
    import torch

    return torch.from_numpy(rng.standard_normal((rows, width), dtype=np.float32))


def _offsets(bags: int, count: int) -> "Tensor":
    import torch

    return torch.from_numpy(np.arange(bags, dtype=np.int64) * count // bags)


_BUILDERS: dict[str, Builder] = {
    "linear": _linear,
    "elementwise": _elementwise,
    "embedding": _embedding,
    "dhe_encoder": _dhe_encoder,
    "interaction": _interaction,
    "concat": _concat,
}
