"""Models that were not written here, torchrec's for one: their modules as the components that the cost model knows.

Modules are told by the full name of their class, so that nothing of torchrec is imported. They are met in the order in
which they were registered, which in torchrec's models is that in which they run.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from planner.cost_model.composition import CostModel, ModelLatency
from planner.cost_model.host_inputs import HostInputs
from planner.cost_model.parts import exponent_of
from planner.cost_model.traffic import in_pass
from profiles.component import Component, make_component
from profiles.errors import InputError
from representations.components import PlacedComponent, work_of
from representations.embedding_components import elementwise, group_component, linear
from representations.specs import BYTES_PER_FLOAT, Feature, TableDtype, TableSpec
from representations.work import BYTES_PER_ID

if TYPE_CHECKING:
    from torch import nn

__all__ = ["components_of_module", "inputs_of_module", "predict_module"]

Zipf = Mapping[str, float] | float


def components_of_module(
    module: "nn.Module",
    batch: int,
    *,
    pooling: Mapping[str, float] | float = 1.0,
    zipf: Zipf = 0.0,
    behind_pass: bool = False,
) -> tuple[PlacedComponent, ...]:
    """Every component of a forward pass over `batch` samples, at the module paths of the model.

    `pooling` is the mean number of ids per sample, and `zipf` the exponent of the ids, for all features or by name.
    With `behind_pass`, each component finds the caches as a whole pass of the model leaves them (see `traffic`).

    Raises:
        InputError: a module of a class that is not known; names its path and class.
    """
    placed = tuple(_Walk(batch=batch, pooling=pooling, zipf=zipf).visit("", module))
    return in_pass(placed, work_of) if behind_pass else placed


def predict_module(
    cost_model: CostModel,
    module: "nn.Module",
    batches: tuple[int, ...],
    device: str,
    *,
    pooling: Mapping[str, float] | float = 1.0,
    zipf: Zipf = 0.0,
    behind_pass: bool = False,
) -> ModelLatency:
    """The latency of a forward pass of the model at each batch, as of one of our own.

    With `behind_pass`, components are asked for as `components_of_module` gives them then; the device's rows must be of
    such components.

    Raises:
        InputError: a module of a class that is not known, or no batch.
        UnknownNameError: an unknown device, or a component that its model has never seen.
    """
    placed = [
        components_of_module(module, batch, pooling=pooling, zipf=zipf, behind_pass=behind_pass) for batch in batches
    ]
    tensors = [*module.parameters(), *module.buffers()]
    return cost_model.predict_placed(
        placed,
        batches,
        device,
        inputs=[inputs_of_module(module, batch, pooling) for batch in batches],
        resident_bytes=sum(one.numel() * one.element_size() for one in tensors),
    )


@dataclass(kw_only=True, slots=True, eq=False)
class _Walk:
    """What has been met so far: the width of the last layer's output, and the widths of all embeddings."""

    batch: int
    pooling: Mapping[str, float] | float
    zipf: Zipf
    width: int = 0
    embedding_widths: list[int] = field(default_factory=list)

    def visit(self, path: str, module: Any) -> Iterator[PlacedComponent]:
        name = _class_name(module)
        if name in _CONTAINERS:
            yield from self.children(path, module)
        elif name in _KNOWN:
            yield from _KNOWN[name](self, path, module)
        else:
            raise InputError(
                f"{f'module {path!r}' if path else 'model'}: nothing is known of the cost of a {name}; known: "
                f"{', '.join(sorted((*_KNOWN, *_CONTAINERS)))}; `recplan profile` measures a model of any modules"
            )

    def children(self, path: str, module: Any) -> Iterator[PlacedComponent]:
        for name, child in module.named_children():
            yield from self.visit(f"{path}.{name}" if path else name, child)

    def linear(self, path: str, module: Any) -> Iterator[PlacedComponent]:
        self.width = module.out_features
        if module.bias is None:
            shape: dict[str, int | float | str] = {"in_features": module.in_features, "out_features": self.width}
            yield self._put(path, make_component("projection", self.batch, shape))
        else:
            yield self._put(path, linear(self.batch, module.in_features, module.out_features))

    def activation(self, path: str, module: Any) -> Iterator[PlacedComponent]:
        yield self._put(path, elementwise(self.batch, _ACTIVATIONS[_class_name(module)], self.width))

    def perceptron(self, path: str, module: Any) -> Iterator[PlacedComponent]:
        """Torchrec's linear layer with a function, or a module, after it."""
        yield from self.linear(f"{path}._linear", module._linear)  # noqa: SLF001 (its only name)
        function = module._activation_fn  # noqa: SLF001 (as above)
        known = _FUNCTIONS.get(getattr(function, "__name__", ""), _ACTIVATIONS.get(_class_name(function)))
        if known is None:
            raise InputError(f"module {path!r}: nothing is known of the cost of its activation {function!r}")
        yield self._put(path, elementwise(self.batch, known, self.width))

    def embedding_bags(self, path: str, module: Any) -> Iterator[PlacedComponent]:
        """Tables alike in width and dtype as one group, as one call looks them up; each feature reads its table."""
        groups: dict[tuple[int, str], list[tuple[Feature, TableSpec]]] = {}
        for config in module.embedding_bag_configs():
            dtype = cast("TableDtype", str(module.embedding_bags[config.name].weight.dtype).removeprefix("torch."))
            spec = TableSpec(dim=config.embedding_dim, dtype=dtype, backend="torchrec")
            for name in config.feature_names:
                feature = Feature(name=name, cardinality=config.num_embeddings, pooling=_of(self.pooling, name))
                groups.setdefault((spec.dim, spec.dtype), []).append((feature, spec))
                self.embedding_widths.append(spec.dim)
        for members in groups.values():
            features, specs = zip(*members, strict=True)
            exponents = [exponent_of(self.zipf, feature) for feature in features]
            group = group_component(features, specs, self.batch, exponents)
            rows_each = [feature.cardinality for feature in features]
            shape = {**dict(group.shape), "ids": "jagged"}
            if len(set(rows_each)) > 1:
                shape["rows_each"] = " ".join(map(str, rows_each))
            yield self._put(path, make_component(group.kind, self.batch, shape, dtype=group.dtype))

    def joined_embeddings(self, path: str, module: Any) -> Iterator[PlacedComponent]:
        """What the tables give, taken apart by feature and joined again."""
        yield from self.children(path, module)
        yield self._put(path, self._joined_views(sum(self.embedding_widths), len(self.embedding_widths)))

    def dot_interaction(self, path: str, module: Any) -> Iterator[PlacedComponent]:
        del module
        vectors = len(self.embedding_widths) + 1
        shape: dict[str, int | float | str] = {"function": "torchrec_dot", "vectors": vectors, "dim": self.width}
        yield self._put(path, make_component("interaction", self.batch, shape))

    def fm_interaction(self, path: str, module: Any) -> Iterator[PlacedComponent]:
        """Both parts join all vectors for themselves; what they give is joined with the dense vector."""
        dense = self.width
        joined, vectors = dense + sum(self.embedding_widths), len(self.embedding_widths) + 1
        yield self._put(f"{path}.deep_fm", self._joined_views(joined, vectors))
        yield from self.children(f"{path}.deep_fm", module.deep_fm)
        shape: dict[str, int | float | str] = {"function": "torchrec_fm", "width": joined, "parts": vectors}
        yield self._put(f"{path}.fm", make_component("interaction", self.batch, shape))
        yield self._put(path, self._concat(dense + self.width + 1, 3))

    def _joined_views(self, width: int, parts: int) -> Component:
        return make_component("concat", self.batch, {"width": width, "parts": parts, "layout": "views"})

    def _concat(self, width: int, parts: int) -> Component:
        return make_component("concat", self.batch, {"width": width, "parts": parts})

    def _put(self, path: str, component: Component) -> PlacedComponent:
        return PlacedComponent(path=path, component=component)


def _class_name(module: object) -> str:
    return f"{type(module).__module__}.{type(module).__qualname__}"


def _of(values: Mapping[str, float] | float, name: str) -> float:
    return float(values.get(name, 1.0) if isinstance(values, Mapping) else values)


def inputs_of_module(module: Any, batch: int, pooling: Mapping[str, float] | float) -> HostInputs:
    """What the first linear layer reads, and all ids."""
    from torch import nn

    first = next((one for one in module.modules() if isinstance(one, nn.Linear)), None)
    bags = [one for one in module.modules() if _class_name(one) == _EMBEDDING_BAGS]
    names = [name for bag in bags for config in bag.embedding_bag_configs() for name in config.feature_names]
    ids_bytes = sum(_of(pooling, name) for name in names) * BYTES_PER_ID
    dense_bytes = (first.in_features if first else 0) * BYTES_PER_FLOAT
    return HostInputs(batch=batch, tables=len(names), sent_bytes=batch * (dense_bytes + ids_bytes))


_EMBEDDING_BAGS = "torchrec.modules.embedding_modules.EmbeddingBagCollection"
_ACTIVATIONS: Mapping[str, str] = {
    "torch.nn.modules.activation.ReLU": "relu",
    "torch.nn.modules.activation.Sigmoid": "sigmoid",
}
_FUNCTIONS: Mapping[str, str] = {"relu": "relu", "sigmoid": "sigmoid"}
_CONTAINERS = frozenset(
    {
        "torch.nn.modules.container.Sequential",
        "torchrec.modules.mlp.MLP",
        *(f"torchrec.models.dlrm.{name}" for name in ("DLRM", "DenseArch", "OverArch")),
        *(f"torchrec.models.deepfm.{name}" for name in ("DenseArch", "OverArch", "SimpleDeepFMNN", "SparseArch")),
    }
)
_KNOWN: Mapping[str, Callable[[_Walk, str, Any], Iterator[PlacedComponent]]] = {
    "torch.nn.modules.linear.Linear": _Walk.linear,
    **dict.fromkeys(_ACTIVATIONS, _Walk.activation),
    "torchrec.modules.mlp.Perceptron": _Walk.perceptron,
    _EMBEDDING_BAGS: _Walk.embedding_bags,
    "torchrec.models.dlrm.SparseArch": _Walk.joined_embeddings,
    "torchrec.models.dlrm.InteractionArch": _Walk.dot_interaction,
    "torchrec.models.deepfm.FMInteractionArch": _Walk.fm_interaction,
}
