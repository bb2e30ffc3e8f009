import numpy as np
import pytest

from planner.mapping.candidate import TrainedCandidate
from planner.mapping.feature_suggestion import suggest_features
from planner.mapping.trial_gains import gains_from_trials
from planner.study.device import DeviceSection
from representations.specs import DheSpec, EmbeddingSpec, Feature, ModelSpec, TableSpec
from tests.planner.mapping.pools import WORKLOAD, cost_model

NAMES = ("a", "b", "c", "d")
# What a table of each feature is worth; `d` has one in every trial.
WORTH = np.array([0.02, -0.01, 0.0, 0.0])


def trial(is_table: tuple[bool, ...], dim: int = 8, k: int = 16, noise: float = 0.0) -> TrainedCandidate:
    embeddings: tuple[EmbeddingSpec, ...] = tuple(
        TableSpec(dim=dim) if table else DheSpec(dim=dim, k=k, widths=(8,)) for table in is_table
    )
    model = ModelSpec(
        name=f"{''.join('td'[not t] for t in is_table)}-{dim}-{k}",
        dense_features=2,
        features=tuple(Feature(name=name, cardinality=100 * (i + 1)) for i, name in enumerate(NAMES)),
        embeddings=embeddings,
        bottom_mlp=(8, dim),
        top_mlp=(8, 1),
    )
    quality = 0.7 + 0.001 * np.log2(dim) + 0.002 * np.log2(k) * (not all(is_table)) + WORTH @ np.array(is_table)
    return TrainedCandidate(name=model.name, model=model, accuracy=float(quality + noise))


def trials(noise: float = 0.0) -> list[TrainedCandidate]:
    rng = np.random.default_rng(0)
    kinds = [(i & 1 > 0, i & 2 > 0, i & 4 > 0, True) for i in range(8)]
    return [
        trial(kind, dim, k, float(rng.normal(0, noise)) if noise else 0.0)
        for kind in kinds
        if not all(kind)
        for dim, k in ((4, 16), (8, 64))
    ]


def nothing(model: ModelSpec) -> float:
    return float(len(model.features))


def test_gains_that_add_up_are_found_again() -> None:
    found = gains_from_trials(trials(), nothing)
    assert [one.name for one in found.gains] == ["a", "b", "c"]
    assert [one.accuracy_gain for one in found.gains] == pytest.approx([0.02, -0.01, 0.0], abs=1e-9)
    assert found.undecided == ("d",)
    assert found.base is not None
    assert all(isinstance(embedding, DheSpec) for embedding in found.base.embeddings)
    width = found.base.embeddings[0].width
    assert found.gains[0].extra_bytes == 100 * width * 4 - found.base.embeddings[0].parameter_bytes(
        found.base.features[0]
    )


def test_noise_is_told_as_an_error() -> None:
    found = gains_from_trials(trials(noise=0.002), nothing)
    for one, worth in zip(found.gains, WORTH, strict=False):
        assert one.std_error is not None
        assert 0 < one.std_error < 0.004
        assert abs(one.accuracy_gain - worth) < 4 * one.std_error


def test_features_that_went_the_same_way_share_a_term() -> None:
    alike = [
        trial((first, rest, rest, True), dim) for first in (True, False) for rest in (True, False) for dim in (4, 8)
    ]
    found = gains_from_trials([one for one in alike if one.model.representation != "table"], nothing)
    assert [one.name for one in found.gains] == ["a", "b+c"]


def test_too_few_trials_say_so() -> None:
    few = gains_from_trials([trial((False,) * 4), trial((True, False, False, False))], nothing)
    assert (few.gains, few.base) == ((), None)
    assert "2 trials do not tell 2 terms apart" in few.reason
    tables_alone = gains_from_trials([trial((True,) * 4)], nothing)
    assert "no trial has a DHE" in tables_alone.reason
    same = gains_from_trials([trial((False,) * 4, dim) for dim in (4, 8, 16)], nothing)
    assert same.reason == "every feature was the same in every trial"


def test_the_tables_that_gain_something_are_suggested() -> None:
    gpu = DeviceSection(name="gpu", kind="v100", memory="1 GB")
    found = suggest_features(trials(), gpu, cost_model(), WORKLOAD)
    assert found.model is not None
    assert [isinstance(embedding, TableSpec) for embedding in found.model.embeddings[:2]] == [True, False]
    body = found.to_object()
    assert body["features"][0]["is_table"] is True
    assert body["predicted_gain"] == pytest.approx(0.02, abs=1e-6)


def test_budgets_that_not_even_dhes_meet_are_named() -> None:
    tiny = DeviceSection(name="gpu", kind="v100", memory="1 kB")
    found = suggest_features(trials(), tiny, cost_model(), WORKLOAD)
    assert found.model is None
    assert found.reason.startswith("a DHE for every feature passes memory by")
