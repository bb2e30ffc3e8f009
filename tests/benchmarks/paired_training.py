"""Representations trained in pairs: for each seed the same split and order of rows, each tuned with the same budget."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from representations.components import model_work
from representations.datasets import Splits
from representations.specs import ModelSpec
from representations.training import train
from representations.training_config import TrainingConfig
from tests.benchmarks.intervals import mean_interval

__all__ = ["GRID", "Score", "beats", "row_of", "scores", "tuned"]

SplitsOf = Callable[[int], Splits]
ModelOf = Callable[[Splits], ModelSpec]
# Dense and table learning rates, tried for every representation alike.
GRID = ((5e-3, 0.2), (5e-3, 0.4), (2e-3, 0.4), (1e-2, 0.2))
# No seed of the comparison.
_TUNING_SEED = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """One trained model on its test rows."""

    auc: float
    log_loss: float
    accuracy: float


def tuned(model_of: ModelOf, splits_of: SplitsOf, config: TrainingConfig) -> TrainingConfig:
    """The settings of `GRID` with the least validation log loss on a split that no comparison uses."""
    splits = splits_of(_TUNING_SEED)
    tried = [replace(config, learning_rate=dense, table_learning_rate=table) for dense, table in GRID]
    losses = [train(model_of(splits), splits, settings).validation.log_loss for settings in tried]
    return tried[losses.index(min(losses))]


def scores(
    models: Mapping[str, ModelOf], splits_of: SplitsOf, seeds: Sequence[int], settings: Mapping[str, TrainingConfig]
) -> dict[str, list[Score]]:
    """Each model trained once per seed; scores of one place are of the same rows."""
    found: dict[str, list[Score]] = {name: [] for name in models}
    for seed in seeds:
        splits = splits_of(seed)
        for name, model_of in models.items():
            sys.stderr.write(f"seed {seed}: {name}\n")
            result = train(model_of(splits), splits, replace(settings[name], seed=seed))
            found[name].append(Score(auc=result.auc, log_loss=result.log_loss, accuracy=result.accuracy))
    return found


def row_of(name: str, spec: ModelSpec, own: Sequence[Score], reference: Sequence[Score]) -> dict[str, Any]:
    """One representation's row; differences are taken seed by seed to the reference's scores.

    Intervals need two seeds at least, and are None with one.
    """
    aucs = [one.auc for one in own]
    over = [one.auc - other.auc for one, other in zip(own, reference, strict=True)]
    several = len(own) > 1
    return {
        "representation": name,
        "auc": fmean(aucs),
        "auc_interval": mean_interval(aucs) if several else None,
        "log_loss": fmean(one.log_loss for one in own),
        "accuracy": fmean(one.accuracy for one in own),
        "parameter_bytes": spec.parameter_bytes,
        "flops": model_work(spec, 1).flops,
        "auc_over_reference": fmean(over),
        "auc_over_reference_interval": mean_interval(over) if several and any(over) else None,
    }


def beats(own: Sequence[Score], other: Sequence[Score]) -> dict[str, Any]:
    """How much higher the AUC of one is than another's, seed by seed, with the interval (None with one seed)."""
    over = [one.auc - two.auc for one, two in zip(own, other, strict=True)]
    return {"auc_over": fmean(over), "interval": mean_interval(over) if len(over) > 1 else None}
