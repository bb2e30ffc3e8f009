from dataclasses import replace

from planner.report.features import embedding_names
from tests.planner.report.sample import sample_plan, sample_search


def path(candidate: str, *features: str) -> dict[str, object]:
    return {"candidate": candidate, "model": {"features": [{"name": name} for name in features]}}


def test_embeddings_are_called_by_the_chosen_models_features() -> None:
    plan = {"paths": [path("trial-1", "origin"), path("trial-10", "carrier", "dest")]}
    assert embedding_names(plan, sample_search()) == {"embeddings.0": "carrier", "embeddings.1": "dest"}


def test_without_a_chosen_path_the_first_that_tells_them_speaks() -> None:
    plan = {"paths": [{"candidate": "given", "model": None}, path("trial-1", "origin")]}
    assert embedding_names(plan, replace(sample_search(), chosen=None)) == {"embeddings.0": "origin"}


def test_plans_without_models_name_nothing() -> None:
    assert embedding_names(sample_plan().to_object(), None) == embedding_names(None, None) == {}
