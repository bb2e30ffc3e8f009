"""An executor that measures nothing: latencies by formula, and noise that a seed fixes."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from profiles.component import Component
from profiles.executors.protocol import Executor
from profiles.hardware import LOCAL_CPU
from profiles.providers.protocol import ComponentProvider
from profiles.records import ComponentProfile, Fingerprint
from profiles.sweep_options import SweepOptions
from profiles.visits import VisitLog
from tests.planner.cost_model.synthetic import FINGERPRINT, profile_of


class SyntheticExecutor(Executor):
    def __init__(self, truth_ms: Callable[[Component], float], noise: float = 0.0) -> None:
        self.truth_ms, self.noise = truth_ms, noise
        self.rounds: list[int] = []

    def devices(self) -> tuple[str, ...]:
        return (LOCAL_CPU,)

    def fingerprint(self, device: str, threads: int) -> Fingerprint:
        del device, threads
        return FINGERPRINT

    def measure(
        self,
        groups: Sequence[tuple[Component, ...]],
        provider: ComponentProvider,
        device: str,
        options: SweepOptions,
        visits: VisitLog | None = None,
    ) -> Iterator[ComponentProfile]:
        del provider, device, visits
        self.rounds.append(sum(map(len, groups)))
        for group in groups:
            for component in group:
                seed = int(component.content_hash(str(options.seed))[:8], 16)
                factor = float(np.exp(np.random.default_rng(seed).normal(0, self.noise)))
                yield profile_of(component, self.truth_ms(component) * factor)
