"""Data sets by name: bundled flights, Criteo files that a user has, and synthetic ones with known probabilities."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from profiles.errors import InputError
from profiles.lazy import lazy_attributes
from profiles.registry import Registry
from representations.datasets.access_log import load_access_log
from representations.datasets.bag_column import BagColumn
from representations.datasets.criteo import CriteoOptions, load_criteo, load_criteo_kaggle, load_criteo_terabyte
from representations.datasets.criteo_rows import CATEGORICAL_NAMES
from representations.datasets.crosses import base_features, with_crosses
from representations.datasets.dataset import Dataset, zipf_exponents
from representations.datasets.flights import FLIGHTS_FEATURES, load_flights
from representations.datasets.splits import SplitKind, Splits, split_dataset
from representations.datasets.synthetic import SYNTHETIC_FEATURES, SyntheticSpec, load_synthetic, make_synthetic

if TYPE_CHECKING:
    from representations.datasets.stack_distance import StackProfile, stack_profile, trace_like

__all__ = [
    "BagColumn",
    "CriteoOptions",
    "Dataset",
    "SplitKind",
    "Splits",
    "StackProfile",
    "SyntheticSpec",
    "base_features",
    "dataset_loaders",
    "features_of_source",
    "load_access_log",
    "load_criteo",
    "load_dataset",
    "make_synthetic",
    "needs_path",
    "split_dataset",
    "stack_profile",
    "trace_like",
    "zipf_exponents",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "StackProfile": "representations.datasets.stack_distance",
        "stack_profile": "representations.datasets.stack_distance",
        "trace_like": "representations.datasets.stack_distance",
    },
)

DatasetLoader = Callable[[Path | None, Sequence[str] | None, int | None, int, float], Dataset]
dataset_loaders: Registry[DatasetLoader] = Registry("data source")
dataset_loaders.register("criteo-kaggle", load_criteo_kaggle)
dataset_loaders.register("criteo-terabyte", load_criteo_terabyte)
dataset_loaders.register("flights", load_flights)
dataset_loaders.register("synthetic", load_synthetic)
_FEATURES = {
    "criteo-kaggle": CATEGORICAL_NAMES,
    "criteo-terabyte": CATEGORICAL_NAMES,
    "flights": FLIGHTS_FEATURES,
    "synthetic": SYNTHETIC_FEATURES,
}


def features_of_source(source: str) -> tuple[str, ...] | None:
    """The categorical features that a source has, None where only its data tells."""
    return _FEATURES.get(source)


def needs_path(source: str) -> bool:
    """Whether the source is a file that the user must have."""
    return source in ("criteo-kaggle", "criteo-terabyte")


def load_dataset(
    source: str,
    path: Path | None = None,
    *,
    features: Sequence[str] | None = None,
    rows: int | None = None,
    seed: int = 0,
    max_bad_share: float = 0.0,
) -> Dataset:
    """The data set of a registered source.

    `features` keeps only these categorical features, in this order; `month*day` is one crossed from two. `rows` limits
    how many rows are read, earliest first; `seed` matters to generated data. At most `max_bad_share` of a click log's
    rows may be bad, and are left out.

    Raises:
        UnknownNameError: a source that is not registered, or a feature that the data lacks.
        InputError: no path where one is needed, or bad values; names file, column, row and value.
        CorruptFileError: a truncated file, or one of another format.
    """
    bases = None if features is None else base_features(features)
    dataset = dataset_loaders.get(source)(path, bases, rows, seed, max_bad_share)
    return dataset if features is None else with_crosses(dataset, _distinct(source, features))


def _distinct(source: str, features: Sequence[str]) -> Sequence[str]:
    if len(set(features)) != len(features):
        raise InputError(f"{source}: features must be distinct, but got {list(features)}")
    return features
