"""A search task whose accuracy and costs follow from formulas: fast, exact, and picklable."""

import math
from dataclasses import replace
from pathlib import Path

from planner.search import Predicted, RungStep, SearchTask, Trained
from planner.study import ModelSection, SearchSection, SpaceSection
from representations.specs import Feature, HybridSpec, ModelSpec, TableSpec

FEATURES = (
    Feature(name="airport", cardinality=300),
    Feature(name="carrier", cardinality=14),
    Feature(name="tail", cardinality=4_000),
)
SMALL_SPACE = SpaceSection(dim=(2, 4, 8), dhe_k=(8, 32), dhe_width=(16,), select_largest=(2,))


def make_task(section: SearchSection | None = None, *, seed: int = 0, **changes: object) -> SearchTask:
    fields: dict[str, object] = {
        "features": FEATURES,
        "dense_features": 5,
        "section": section or SearchSection(trials=12, space=SMALL_SPACE),
        "latency_device": "cpu",
        "latency_batch": 128,
        "model": ModelSection(),
        "seed": seed,
        "data": {"source": "closed form"},
    }
    return SearchTask(**{**fields, **changes})  # type: ignore[arg-type]  # the changes are any of the fields


def predict(spec: ModelSpec) -> Predicted:
    flops = 2.0 * sum(inputs * outputs for _, inputs, outputs in spec.mlp_layers)
    flops += 2.0 * sum(inputs * outputs for embedding in spec.embeddings for inputs, outputs in _decoder(embedding))
    return Predicted(
        latency_ms={"cpu": 0.1 + flops / 1e5, "gpu": 0.5}, parameter_bytes=spec.parameter_bytes, flops=flops
    )


def train(spec: ModelSpec, seed: int) -> Trained:
    gains = [0.02 * math.log2(embedding.width) + 0.01 * len(_decoder(embedding)) for embedding in spec.embeddings]
    auc = 0.6 + sum(gains) / len(gains) + (seed % 7) * 1e-6
    return Trained(auc=auc, log_loss=1 - auc, accuracy=auc - 0.05, seconds=0.01)


class LoggedTrainer:
    """`train`, with a line in a file for each call."""

    def __init__(self, log: Path) -> None:
        self.log = log

    def __call__(self, spec: ModelSpec, seed: int) -> Trained:
        with self.log.open("a") as file:
            file.write(f"{spec.name}\n")
        return train(spec, seed)

    @property
    def names(self) -> list[str]:
        return self.log.read_text().split() if self.log.exists() else []


def _decoder(embedding: object) -> tuple[tuple[int, int], ...]:
    if isinstance(embedding, HybridSpec):
        return embedding.dhe.layers
    return () if isinstance(embedding, TableSpec) else embedding.layers  # type: ignore[attr-defined]  # a DheSpec


class RungedTrainer:
    """`train` in three parts, the early ones of which score lower; `limit` steps of them, then it is interrupted."""

    rungs = (0.1, 0.4, 1.0)

    def __init__(self, limit: int | None = None) -> None:
        self.steps: list[tuple[str, RungStep]] = []
        self._limit = limit

    def __call__(self, spec: ModelSpec, seed: int) -> Trained:
        return train(spec, seed)

    def train_rung(self, spec: ModelSpec, seed: int, step: RungStep) -> Trained:
        if len(self.steps) == self._limit:
            raise KeyboardInterrupt
        self.steps.append((spec.name, step))
        share = self.rungs[step.rung] - (0.0 if step.after is None else self.rungs[step.after])
        whole = train(spec, seed)
        return replace(whole, auc=whole.auc - 0.05 * (1 - self.rungs[step.rung]), seconds=share)
