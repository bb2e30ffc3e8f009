"""Components of recommendation models as modules with inputs, so that they can be measured alone."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from profiles.component import Component, Work
from profiles.errors import InputError, UnknownNameError
from profiles.providers import BuiltComponent
from representations.logged_ids import logged_ids
from representations.specs import Feature, QuotientRemainderSpec, RobeSpec, TensorTrainSpec
from representations.work import rows_of_tables, table_of, work_of
from representations.zipf import sample_ids

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["RecommendationProvider"]


class RecommendationProvider:
    """Builds every kind that `components_of` places, and its backward pass, its optimizer's step, its inputs' copies.

    Stateless, so that it travels to any worker.
    """

    def build(self, component: Component, seed: int) -> BuiltComponent:
        """The module in evaluation mode and its inputs: standard normal activations, ids uniform or Zipf over rows.

        A shape with `context_bytes` has so many bytes of activations pass through the caches before every call, and
        with `context_frees` free memory go back to the system as well.
        Equal seeds give equal weights and inputs; torch's own generator is left as it was.

        Raises:
            UnknownNameError: an unknown kind, phase, function or back end.
            InputError: a shape that lacks a key, or a pass that the kind has not.
        """
        import torch

        if component.kind not in _BUILDERS:
            raise UnknownNameError("component kind", component.kind, _BUILDERS)
        if component.phase != "forward":
            # Refuses passes that do not exist.
            work_of(component)
        with torch.random.fork_rng(devices=()):
            torch.default_generator.manual_seed(seed)
            try:
                module, args = _BUILDERS[component.kind](component, np.random.default_rng(seed))
            except KeyError as error:
                raise InputError(f"component {component.kind!r}: shape lacks {error}") from error
        return BuiltComponent(module=_of_phase(component, module).eval(), args=args, before=_traffic(component))

    def work(self, component: Component) -> Work:
        """FLOPs and bytes by formula."""
        return work_of(component)


def _traffic(component: Component) -> Callable[[], object] | None:
    from representations.activation_traffic import ActivationTraffic

    shape = dict(component.shape)
    context_bytes, gives_back = int(shape.get("context_bytes", 0)), bool(shape.get("context_frees", 0))
    return ActivationTraffic(context_bytes, gives_back=gives_back) if context_bytes else None


def _of_phase(component: Component, module: "nn.Module") -> "nn.Module":
    if component.phase == "forward":
        return module
    from representations.training_passes import BackwardPass, OptimizerStep

    if component.phase == "backward":
        return BackwardPass(module, input_gradient=bool(dict(component.shape).get("input_gradient", True)))
    return OptimizerStep(module, str(component["optimizer"]))


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
    from representations.dhe.mish import Mish

    modules: dict[str, Callable[[], nn.Module]] = {
        "relu": nn.ReLU,
        "mish": Mish,
        "sigmoid": nn.Sigmoid,
        "batch_norm": lambda: nn.BatchNorm1d(width),
    }
    if function in ("add", "multiply"):
        from representations.quotient_remainder import Add, Multiply

        pair = (_normal(rng, component.batch, width), _normal(rng, component.batch, width))
        return Add() if function == "add" else Multiply(), pair
    if function not in modules:
        raise UnknownNameError("elementwise function", function, (*modules, "add", "multiply", "sum_pool"))
    return modules[function](), (_normal(rng, component.batch, width),)


def _sum_pool(component: Component, rng: np.random.Generator) -> Built:
    from representations.dhe.embedding import SumPool

    bags = max(1, round(component.batch / float(component["pooling"])))
    rows_ND = _normal(rng, component.batch, int(component["width"]))
    return SumPool(), (rows_ND, _offsets(bags, component.batch))


def _embedding(component: Component, rng: np.random.Generator) -> Built:
    from representations.table import EmbeddingTable

    spec = table_of(component)
    if spec.backend != "torch":
        raise UnknownNameError("embedding backend", spec.backend, ("torch",))
    feature = _feature(component, int(component["rows"]))
    return EmbeddingTable(feature, spec), _bag(component, feature, rng)


def _embedding_group(component: Component, rng: np.random.Generator) -> Built:
    from representations.tables.build import build_group

    spec, rows, tables = table_of(component), int(component["rows"]), int(component["tables"])
    if tables > rows:
        raise InputError(f"component 'embedding_group': {tables} tables need as many rows, but there are {rows}")
    features = [_feature(component, count) for count in rows_of_tables(component)]
    bags = [_bag(component, feature, rng) for feature in features]
    if dict(component.shape).get("ids") == "jagged":
        from representations.tables.torchrec import TorchrecTables
        from representations.torchrec_components import JaggedTables, jagged_inputs

        return JaggedTables(TorchrecTables(features, [spec] * tables)), jagged_inputs(bags, component.batch)
    return build_group(features, [spec] * tables), (bags,)


def _feature(component: Component, rows: int) -> Feature:
    return Feature(name="ids", cardinality=rows, pooling=float(component["pooling"]))


def _bag(component: Component, feature: Feature, rng: np.random.Generator) -> tuple["Tensor", ...]:
    count = max(1, round(component.batch * feature.pooling))
    ids_N = _ids(component, feature.cardinality, count, rng)
    return (ids_N,) if feature.pooling == 1 else (ids_N, _offsets(component.batch, count))


def _ids(component: Component, rows: int, count: int, rng: np.random.Generator) -> "Tensor":
    import torch

    source = dict(component.shape).get("ids_from")
    if source is not None:
        return torch.from_numpy(logged_ids(str(source), rng, rows, count))
    return torch.from_numpy(sample_ids(rng, rows, float(component["zipf"]), count))


def _host_to_device(component: Component, rng: np.random.Generator) -> Built:
    from representations.host_copy import build_host_copy

    return build_host_copy(component, rng), ()


def _id_map(component: Component, rng: np.random.Generator) -> Built:
    import torch

    from representations.reduced_table import RowNumbers

    rows = int(component["rows"])
    return RowNumbers(rows, max(1, rows // 2)), (torch.from_numpy(rng.integers(0, rows, component.batch)),)


def _id_split(component: Component, rng: np.random.Generator) -> Built:
    import torch

    from representations.quotient_remainder import IdSplit

    return IdSplit(QuotientRemainderSpec(dim=1).collisions), (
        torch.from_numpy(rng.integers(0, 2**24, component.batch)),
    )


def _projection(component: Component, rng: np.random.Generator) -> Built:
    from torch import nn

    inputs, outputs = int(component["in_features"]), int(component["out_features"])
    return nn.Linear(inputs, outputs, bias=False), (_normal(rng, component.batch, inputs),)


def _tensor_train(component: Component, rng: np.random.Generator) -> Built:
    import torch

    from representations.tensor_train import TensorTrainCores

    p, q = (tuple(int(component[f"{name}_{i}"]) for i in range(int(component["cores"]))) for name in ("p", "q"))
    spec = TensorTrainSpec(dim=math.prod(q), rank=int(component["rank"]), row_factors=p, dim_factors=q)
    feature = Feature(name="ids", cardinality=math.prod(p))
    module = TensorTrainCores(feature.cardinality, spec.core_shapes(feature), spec.dim)
    return module, (torch.from_numpy(rng.integers(0, feature.cardinality, component.batch)),)


def _robe(component: Component, rng: np.random.Generator) -> Built:
    from representations.robe import RobeArray, RobeRows

    rows = int(component["rows"])
    spec = RobeSpec(dim=int(component["dim"]), floats=int(component["floats"]), block=int(component["block"]))
    array = RobeArray(spec, rows)
    module = RobeRows(spec, array, 0)
    # Measured alone, it owns the array.
    module.add_module("array", array)
    return module, (_ids(component, rows, component.batch, rng),)


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

    function = str(component["function"])
    if function == "concat":
        return _joined(component, int(component["vectors"]), rng)
    if function == "fm":
        from representations.deepfm import FactorizationMachine

        return FactorizationMachine(), (_normal(rng, component.batch, int(component["width"])),)
    if function == "torchrec_fm":
        from representations.torchrec_components import MachineOfViews

        width = int(component["width"])
        return MachineOfViews(_widths(component, int(component["parts"]))), (_normal(rng, component.batch, width),)
    if function not in ("dot", "torchrec_dot"):
        raise UnknownNameError("interaction function", function, ("concat", "dot", "fm", "torchrec_dot", "torchrec_fm"))
    dim, vectors = int(component["dim"]), int(component["vectors"])
    if function == "torchrec_dot":
        from representations.torchrec_components import dot_interaction

        sparse_BFD = _normal(rng, component.batch, (vectors - 1) * dim).reshape(-1, vectors - 1, dim)
        return dot_interaction(vectors - 1), (_normal(rng, component.batch, dim), sparse_BFD)
    return DotInteraction(), tuple(_normal(rng, component.batch, dim) for _ in range(vectors))


def _concat(component: Component, rng: np.random.Generator) -> Built:
    return _joined(component, int(component["parts"]), rng)


def _joined(component: Component, parts: int, rng: np.random.Generator) -> Built:
    from representations.interaction import Concat

    widths = _widths(component, parts)
    if dict(component.shape).get("layout") == "views":
        from representations.torchrec_components import JoinedViews

        return JoinedViews(widths), (_normal(rng, component.batch, sum(widths)),)
    return Concat(), tuple(_normal(rng, component.batch, part) for part in widths)


def _widths(component: Component, parts: int) -> list[int]:
    width = int(component["width"])
    if not 1 <= parts <= width:
        raise InputError(f"component {component.kind!r}: width {width} cannot be split into {parts} parts")
    return [width // parts + (i < width % parts) for i in range(parts)]


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
