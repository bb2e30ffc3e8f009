"""What a guide learns accuracy from.

Suffixes: N candidates, X features.
"""

from collections.abc import Sequence

import numpy as np

from planner.cost_model.candidates import candidates_of
from planner.search.accuracy_model import Floats
from planner.search.candidate import Candidate
from planner.search.model_features import accuracy_features
from planner.search.search_space import SearchSpace
from planner.search.space_columns import SpaceModels
from planner.search.space_features import SpaceFeatures

__all__ = ["described"]

# A few dozen trainings tell nothing of more numbers than these.
_MOST_NUMBERS = 48


def described(space: SearchSpace, candidates: Sequence[Candidate]) -> Floats:
    """[N, X]: candidates by their choices and each feature's capacity; by means over features where that is a lot."""
    describe = SpaceFeatures(space=space)
    if len(describe.names) > _MOST_NUMBERS:
        return accuracy_features(candidates_of([candidate.model for candidate in candidates]))
    codes_NG = np.stack([space.code(candidate.choices) for candidate in candidates])
    return describe(SpaceModels(space=space).columns(codes_NG))
