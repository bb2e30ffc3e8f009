"""What is searched, and by which measure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from planner.search.candidate import Candidate, build_candidate, candidate_key, placed_key
from planner.search.search_space import SearchSpace, search_space
from planner.search.space import Choices
from planner.search.space_candidate import space_candidate
from planner.study import ModelSection, SearchSection
from profiles.errors import InputError
from representations.specs import Feature, ModelSpec

__all__ = ["SearchTask"]

_TRAINING, _SAMPLING = 0, 1


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchTask:
    """The question put to the search.

    `data` is a JSON-ready description of the rows that trials train on: a search is resumed only on the same data.
    Latency is judged on `latency_device`, for one query of `latency_batch` samples.
    """

    features: tuple[Feature, ...]
    dense_features: int
    section: SearchSection
    latency_device: str
    latency_batch: int
    model: ModelSection = field(default_factory=ModelSection)
    seed: int = 0
    data: Mapping[str, Any] = field(default_factory=dict)
    space: SearchSpace = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.features:
            raise InputError("search: needs at least one categorical feature")
        if self.seed < 0:
            raise InputError(f"seed: must be >= 0, but got {self.seed}")
        space = search_space(self.section.space, self.features, self.dense_features, self.model)
        object.__setattr__(self, "space", space)

    @property
    def training_seed(self) -> int:
        """The seed of every trial's training: one for all, so that candidates are compared in pairs."""
        return self._drawn(_TRAINING)

    def sampling_seed(self, asked: int) -> int:
        """The sampler's seed for the trial after `asked` others, so that a resumed search goes on as it would have."""
        return self._drawn(_SAMPLING, asked)

    def candidate(self, choices: Choices) -> Candidate:
        """The candidate that `choices` make."""
        if not self.section.space.is_flat:
            return space_candidate(self.space, choices)
        model = build_candidate(choices, self.features, self.dense_features, self.model)
        return Candidate(choices=dict(choices), model=model, key=candidate_key(model))

    def key_of(self, choices: Choices, model: ModelSpec) -> str:
        """The key of a candidate with these choices, whose model is known."""
        return placed_key(candidate_key(model), choices)

    def _drawn(self, *path: int) -> int:
        return int(np.random.SeedSequence([self.seed, *path]).generate_state(1)[0])
