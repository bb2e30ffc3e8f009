"""The study's data, split and measured for skew."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from planner.study import FeatureChoice, ModelSection, Study, skew_log
from profiles.errors import InputError
from representations.datasets import Splits, load_dataset, split_dataset, zipf_exponents
from representations.specs import Feature

__all__ = ["StudyData", "load_study_data"]


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyData:
    """What later steps need of the data: the parts to train and test on, the features, and each feature's id skew."""

    splits: Splits
    zipf: Mapping[str, float]
    notes: tuple[str, ...] = ()

    @property
    def features(self) -> tuple[Feature, ...]:
        """The categorical features that the candidates embed."""
        return self.splits.features

    @property
    def dense_features(self) -> int:
        """How many dense features enter the bottom MLP."""
        return self.splits.dense_features


def load_study_data(study: Study) -> StudyData:
    """Read, check and split the study's data; warns of rows that were left out.

    Raises:
        InputError: the data is missing or bad, or does not have the features that the study names.
    """
    section = study.data
    dataset = load_dataset(
        section.source,
        section.path,
        features=study.model.feature_names,
        rows=section.rows,
        seed=study.seed,
        max_bad_share=section.max_bad_share,
    )
    if dataset.bad_rows:
        warnings.warn("; ".join(dataset.notes), stacklevel=2)
    _check_choices(study.model, dataset.features, study.where)
    splits = split_dataset(dataset, section.split, study.seed)
    fixed = study.workload.zipf()
    if fixed is not None:
        zipf: Mapping[str, float] = {feature.name: fixed for feature in dataset.features}
    elif log := skew_log(study.workload, study.folder):
        zipf = {feature.name: _log_exponent(log.read_text(encoding="utf-8"), str(log)) for feature in dataset.features}
    else:
        zipf = zipf_exponents(dataset)
    return StudyData(splits=splits, zipf=zipf, notes=dataset.notes)


def _check_choices(model: ModelSection, features: tuple[Feature, ...], where: str) -> None:
    found = {feature.name: feature for feature in features}
    for choice in model.features or ():
        if not isinstance(choice, FeatureChoice):
            continue
        feature = found[choice.name]
        if choice.cardinality is not None and choice.cardinality < feature.cardinality:
            raise InputError(
                f"{where}: model.features.{choice.name}.cardinality: must be >= {feature.cardinality} as the data has, "
                f"but got {choice.cardinality}"
            )
        if choice.pooling is not None and choice.pooling != feature.pooling:
            raise InputError(
                f"{where}: model.features.{choice.name}.pooling: must be {feature.pooling} as the data has, "
                f"but got {choice.pooling}"
            )


def _log_exponent(text: str, where: str) -> float:
    import numpy as np

    from representations.zipf import fit_log_exponent

    ids = text.split()
    if not ids:
        raise InputError(f"{where}: must hold ids, one a line, but is empty")
    _, labels_N = np.unique(np.array(ids), return_inverse=True)
    return fit_log_exponent(labels_N)
