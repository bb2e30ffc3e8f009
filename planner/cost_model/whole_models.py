"""Whole models measured, to hold the sum of their components against; rows of kind `model` in the profile store.

Shape suffixes: B samples, F dense features, S categorical features, N flat ids.
"""

import hashlib
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.cost_model.scatter import IDLED_MS
from planner.cost_model.training_rows import IDLED_MODEL, SERVED_MODEL, WHOLE_MODEL
from profiles.component import Component, Work, make_component
from profiles.errors import UnknownNameError
from profiles.executors.protocol import Executor
from profiles.hardware import LOCAL_CPU
from profiles.providers.protocol import BuiltComponent, ComponentProvider
from profiles.records import Latency
from profiles.store import ProfileStore
from profiles.sweep import sweep
from profiles.sweep_options import SweepOptions
from profiles.units import MS_PER_S
from representations.components import model_work
from representations.specs import Feature, ModelSpec
from representations.zipf import sample_ids

if TYPE_CHECKING:
    import torch

__all__ = [
    "MeasuredModel",
    "WholeModelProvider",
    "WholeModelSweep",
    "WithWholeModels",
    "stored_whole_models",
]

# Spells of a shared machine last tenths of a second and longer: few samples at many times tell more of their mixture.
_SERVED_VISITS, _GAP_S = 10, 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredModel:
    """A model's measured warm latency at a batch size."""

    spec: ModelSpec
    batch: int
    latency: Latency


@dataclass(frozen=True, kw_only=True, slots=True)
class WholeModelProvider:
    """Builds whole models as components of the `kinds`, told apart by name and a digest of spec and id skew.

    One of kind `IDLED_MODEL` is called after a pause of `IDLED_MS`.
    """

    specs: tuple[ModelSpec, ...]
    zipf: Mapping[str, float] | float = 0.0
    kinds: tuple[str, ...] = (WHOLE_MODEL,)
    _by_digest: Mapping[str, ModelSpec] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_digest", {self._digest(spec): spec for spec in self.specs})

    def component(self, spec: ModelSpec, batch: int, kind: str | None = None) -> Component:
        """The component that stands for the model at that batch, of the first kind unless told otherwise."""
        return make_component(kind or self.kinds[0], batch, {"name": spec.name, "digest": self._digest(spec)})

    def components(self, batches: Sequence[int]) -> tuple[Component, ...]:
        """Those of all models at those batches, of every kind."""
        return tuple(
            self.component(spec, batch, kind) for spec in self.specs for batch in batches for kind in self.kinds
        )

    def build(self, component: Component, seed: int) -> BuiltComponent:
        """The model with random weights, and random inputs with the provider's id skew."""
        from representations.build import build_model

        spec = self._spec(component)
        rng = np.random.default_rng(seed)
        return BuiltComponent(
            module=build_model(spec, seed),
            args=_inputs(spec, component.batch, self.zipf, rng),
            before=_idle if component.kind == IDLED_MODEL else None,
        )

    def work(self, component: Component) -> Work:
        """The work of a forward pass of the whole model."""
        return model_work(self._spec(component), component.batch, zipf=self.zipf)

    def _spec(self, component: Component) -> ModelSpec:
        digest = str(dict(component.shape).get("digest"))
        if digest not in self._by_digest:
            raise UnknownNameError("whole model", digest, self._by_digest)
        return self._by_digest[digest]

    def _digest(self, spec: ModelSpec) -> str:
        skew = dict(self.zipf) if isinstance(self.zipf, Mapping) else self.zipf
        text = json.dumps([spec.to_object(), skew], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True, slots=True)
class WithWholeModels:
    """Builds whole models beside the components of another provider, so that one sweep visits both in turn.

    What slows the machine down for a while then meets both alike.
    """

    parts: ComponentProvider
    models: WholeModelProvider

    def build(self, component: Component, seed: int) -> BuiltComponent:
        """As the provider of the component's kind does."""
        return self._of(component).build(component, seed)

    def work(self, component: Component) -> Work:
        """As the provider of the component's kind says."""
        return self._of(component).work(component)

    def _of(self, component: Component) -> ComponentProvider:
        return self.models if component.kind == WHOLE_MODEL else self.parts


@dataclass(frozen=True, kw_only=True, slots=True)
class WholeModelSweep:
    """Measures models whole on one device; what the store knows already is not redone."""

    specs: tuple[ModelSpec, ...]
    store: ProfileStore
    zipf: Mapping[str, float] | float = 0.0
    device: str = LOCAL_CPU
    executor: Executor | None = None
    options: SweepOptions = field(default_factory=SweepOptions)

    def left(self, batches: Sequence[int]) -> int:
        """How many models at a batch `measure` would still have to visit."""
        return self._left((WHOLE_MODEL,), batches)

    def left_to_serve(self, batches: Sequence[int]) -> int:
        """How many models at a batch `time_served` would still have to visit."""
        return self._left((SERVED_MODEL, IDLED_MODEL), batches)

    def measure(self, batches: Sequence[int]) -> tuple[MeasuredModel, ...]:
        """The latency of each model at each batch, as a sweep measures components.

        A model that could not be measured is missing from the result; its row in the store says why.
        """
        self._sweep((WHOLE_MODEL,), batches, self.options)
        return stored_whole_models(self.specs, batches, self.store, self._device_key(), zipf=self.zipf)

    def time_served(self, batches: Sequence[int]) -> None:
        """Time each model at each batch as it would be served, whatever the core: call after call, and after pauses.

        Rows of two kinds of their own. Beside the models' labels they tell how much slower than these the usual call
        is, and the call after a pause (`planner.cost_model.scatter_sources`).
        """
        as_they_come = replace(
            self.options, quiet_core=None, agreement=None, retakes=0, visits=_SERVED_VISITS, least_gap_s=_GAP_S
        )
        self._sweep((SERVED_MODEL, IDLED_MODEL), batches, as_they_come)

    def _sweep(self, kinds: tuple[str, ...], batches: Sequence[int], options: SweepOptions) -> None:
        provider = WholeModelProvider(specs=self.specs, zipf=self.zipf, kinds=kinds)
        wanted = provider.components(batches)
        sweep(wanted, provider, self.store, device=self.device, executor=self.executor, options=options)

    def _left(self, kinds: tuple[str, ...], batches: Sequence[int]) -> int:
        key, known = self._device_key(), self.store.known()
        wanted = WholeModelProvider(specs=self.specs, zipf=self.zipf, kinds=kinds).components(batches)
        places = [
            (component.shape, component.batch) for component in wanted if component.content_hash(key) not in known
        ]
        return len(set(places))

    def _device_key(self) -> str:
        from profiles.fingerprint import current_fingerprint

        threads = self.options.threads
        if self.executor is None:
            return current_fingerprint(self.device, threads).device_key()
        return self.executor.fingerprint(self.device, threads).device_key()


def stored_whole_models(
    specs: Sequence[ModelSpec],
    batches: Sequence[int],
    store: ProfileStore,
    device_key: str,
    *,
    zipf: Mapping[str, float] | float = 0.0,
) -> tuple[MeasuredModel, ...]:
    """Those of the models and batches that the store holds, measured under the fingerprint's `device_key`."""
    provider = WholeModelProvider(specs=tuple(specs), zipf=zipf)
    latencies = {row.content_hash: row.warm for row in store.load() if row.kind == WHOLE_MODEL}
    found = {
        (spec, batch): latencies.get(provider.component(spec, batch).content_hash(device_key))
        for spec in specs
        for batch in batches
    }
    return tuple(
        MeasuredModel(spec=spec, batch=batch, latency=latency)
        for (spec, batch), latency in found.items()
        if latency is not None
    )


def _idle() -> None:
    time.sleep(IDLED_MS / MS_PER_S)


def _inputs(
    spec: ModelSpec, batch: int, zipf: Mapping[str, float] | float, rng: np.random.Generator
) -> tuple[Any, ...]:
    import torch

    dense_BF = torch.from_numpy(rng.standard_normal((batch, spec.dense_features), dtype=np.float32))
    bags = [_bag(feature, batch, _exponent(zipf, feature), rng) for feature in spec.features]
    if all(feature.pooling == 1 for feature in spec.features):
        return dense_BF, torch.stack([ids for ids, _ in bags], dim=1)
    return dense_BF, tuple(bags)


def _bag(
    feature: Feature, batch: int, exponent: float, rng: np.random.Generator
) -> tuple["torch.Tensor", "torch.Tensor"]:
    """Flat ids [N] and where each sample's begin [B]."""
    import torch

    count = max(1, round(batch * feature.pooling))
    ids_N = torch.from_numpy(sample_ids(rng, feature.cardinality, exponent, count))
    starts = [min(count, math.floor(i * feature.pooling)) for i in range(batch)]
    return ids_N, torch.tensor(starts)


def _exponent(zipf: Mapping[str, float] | float, feature: Feature) -> float:
    return float(zipf.get(feature.name, 0.0) if isinstance(zipf, Mapping) else zipf)
