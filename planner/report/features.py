"""What the chosen model's embeddings embed: names for modules that are numbered in the profile."""

from collections.abc import Mapping
from typing import Any

from planner.report.inputs import SearchInputs

__all__ = ["embedding_names"]

_CONTAINER = "embeddings"


def embedding_names(plan_object: Mapping[str, Any] | None, search: SearchInputs | None) -> Mapping[str, str]:
    """From `embeddings.0` and so on to the names of the features; nothing where no path of the plan tells them.

    The chosen candidate's path speaks where there is one, else the first that carries its model: all paths of a plan
    serve the same features in the same order.
    """
    models = [
        (path.get("candidate"), path["model"]) for path in (plan_object or {}).get("paths", ()) if path.get("model")
    ]
    chosen = _chosen_name(search)
    features = next((model.get("features", ()) for _, model in sorted(models, key=lambda pair: pair[0] != chosen)), ())
    return {f"{_CONTAINER}.{place}": str(feature["name"]) for place, feature in enumerate(features)}


def _chosen_name(search: SearchInputs | None) -> str | None:
    trials = search.trials if search is not None else ()
    return next((row.get("name") for row in trials if search and row["number"] == search.chosen), None)
