from dataclasses import replace

import numpy as np

from planner.cost_model.candidates import candidates_of
from planner.search.guide_features import described
from planner.search.model_features import accuracy_features
from planner.search.space_candidate import space_candidate
from planner.study import GroupSection, SpaceSection
from tests.planner.search.grouped import EVERYTHING, make_space


def test_candidates_are_told_apart_by_what_each_group_chooses() -> None:
    groups = (GroupSection(name="tail", features=("tail",)), GroupSection(name="rest"))
    space = make_space(SpaceSection(dim=(4, 8), groups=groups))
    codes_NG = np.unique(space.sample(40, np.random.default_rng(0)), axis=0)
    rows = described(space, [space_candidate(space, space.choices(code_G)) for code_G in codes_NG])
    assert len(np.unique(rows, axis=0)) == len(codes_NG)


def test_many_choices_are_described_by_means_over_features() -> None:
    group = replace(
        EVERYTHING, dtype=("float32", "float16", "int8"), kept_rows=(1.0, 0.5), kept_by=("hash", "frequency")
    )
    space = make_space(SpaceSection(dim=(4,), groups=(group,)))
    candidates = [space_candidate(space, space.choices(code_G)) for code_G in space.extremes()]
    models = [candidate.model for candidate in candidates]
    assert np.array_equal(described(space, candidates), accuracy_features(candidates_of(models)))
