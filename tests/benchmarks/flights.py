"""The rows of the accuracy benchmark: what is trained, in pairs over seeds, and what comes out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from representations.assignment import Representation, with_representation
from representations.components import model_work
from representations.datasets import Dataset, Splits, split_dataset
from representations.presets import get_preset
from representations.specs import DheSpec, ModelSpec
from representations.training import train
from representations.training_config import TrainingConfig
from tests.benchmarks.intervals import auc_interval, mean_interval

__all__ = ["REPRESENTATIONS", "Score", "models", "row_of", "scores"]

REPRESENTATIONS: tuple[Representation, ...] = ("table", "dhe", "select", "hybrid")
DIM = 16
DHE = DheSpec(dim=DIM, k=64, widths=(64,))


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """One trained model on its test rows."""

    auc: float
    log_loss: float
    accuracy: float
    positives: int
    negatives: int


def models(splits: Splits) -> dict[Representation, ModelSpec]:
    """The flights DLRM with each representation; a hybrid's halves share the width, so that all interact alike."""
    base = replace(get_preset("dlrm-flights"), features=splits.features)
    return {
        one: with_representation(base, one, dim=DIM // 2 if one == "hybrid" else DIM, dhe=DHE)
        for one in REPRESENTATIONS
    }


def scores(dataset: Dataset, seeds: Sequence[int], *, epochs: int) -> dict[Representation, list[Score]]:
    """Each representation trained once per seed, which draws the random split, the weights and the order of rows."""
    found: dict[Representation, list[Score]] = {one: [] for one in REPRESENTATIONS}
    for seed in seeds:
        splits = split_dataset(dataset, "random", seed)
        for one, spec in models(splits).items():
            found[one].append(_score(spec, splits, TrainingConfig(epochs=epochs, seed=seed)))
    return found


def _score(spec: ModelSpec, splits: Splits, config: TrainingConfig) -> Score:
    result = train(spec, splits, config)
    positives = int(splits.test.labels_N.sum())
    return Score(
        auc=result.auc,
        log_loss=result.log_loss,
        accuracy=result.accuracy,
        positives=positives,
        negatives=len(splits.test) - positives,
    )


def row_of(spec: ModelSpec, own: Sequence[Score], tables: Sequence[Score]) -> dict[str, Any]:
    """One representation's row; differences are taken seed by seed to the table's scores, and have intervals only where
    there are seeds enough.
    """
    aucs = [one.auc for one in own]
    differences = [one.auc - table.auc for one, table in zip(own, tables, strict=True)]
    several = len(own) > 1
    return {
        "representation": spec.representation,
        "auc": fmean(aucs),
        "auc_interval": mean_interval(aucs) if several else auc_interval(aucs[0], own[0].positives, own[0].negatives),
        "log_loss": fmean(one.log_loss for one in own),
        "accuracy": fmean(one.accuracy for one in own),
        "parameter_bytes": spec.parameter_bytes,
        "flops": model_work(spec, 1).flops,
        "auc_over_table": fmean(differences),
        "auc_over_table_interval": mean_interval(differences) if several else None,
    }
