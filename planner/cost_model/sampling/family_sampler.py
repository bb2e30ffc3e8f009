"""One family's part in an adaptive sweep: what was asked of it, what was learned, what to ask next."""

from itertools import islice
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from planner.cost_model.estimates import Floats
from planner.cost_model.family import fit_family
from planner.cost_model.features import WorkFormula, dimensions_of, drivers_of, family_of
from planner.cost_model.roofline import PhysicalLimits
from planner.cost_model.sampling.budget import SamplingBudget
from planner.cost_model.sampling.space import SamplingSpace
from planner.cost_model.sampling.surrogate import Surrogate, fit_surrogate
from planner.cost_model.training_rows import TrainingRows
from profiles.component import Component

__all__ = ["FamilySampler", "StopReason"]

StopReason = Literal["goal", "points", "time", "end of space"]
# With fewer rows, what is held out says nothing; with fewer shapes, single rows are held out.
_FEWEST_ROWS = 8
_FEWEST_SHAPES = 5
_CANDIDATES = 256
# The cost model is fitted where the surrogate's error is at most so many times the goal: it is often twice as good.
_WORTH_A_FIT = 2.5


class FamilySampler:
    """Asks for components of a space: first evenly spread ones, then the least certain."""

    def __init__(self, space: SamplingSpace, work: WorkFormula, budget: SamplingBudget, *, seed: int) -> None:
        self.space = space
        self.stopped: StopReason | None = None
        self.curve: list[tuple[int, float]] = []
        self._work, self._budget, self._seed = work, budget, seed
        self._draws = space.draws(work, seed=seed)
        self._waiting: list[Component] = []
        self._asked: set[Component] = set()
        self._components: list[Component] = []
        self._surrogate: Surrogate | None = None
        self._error: float | None = None

    @property
    def asked(self) -> int:
        """Components measured before, or asked for."""
        return len(self._asked)

    @property
    def points(self) -> int:
        """Components that have a label."""
        return len(self._components)

    @property
    def error(self) -> float | None:
        """Mean absolute relative error of shapes held out, after the last `learn`; None where there is no model yet.

        It is the cost model's where that may reach the goal, else the surrogate's, which is about twice as large.
        """
        return self._error

    def stop(self, reason: StopReason) -> None:
        """Ask for no more."""
        self.stopped = reason

    def learn(self, rows: TrainingRows, limits: PhysicalLimits) -> None:
        """Refit on those of the rows that are of this family; stops where they reach the goal."""
        places = [place for place, component in enumerate(rows.components) if self._is_mine(component)]
        self._components = [rows.components[place] for place in places]
        self._asked.update(self._components)
        if len(places) < _FEWEST_ROWS or (self.curve and self.curve[-1][0] == len(places)):
            return
        label_ms = rows.label_ms[np.array(places)]
        shapes: list[object] = [tuple(dimensions_of(component).items()) for component in self._components]
        if len(set(shapes)) < _FEWEST_SHAPES:
            shapes = list(range(len(places)))
        # The matrices are small: threads of a linear-algebra library cost more than they save.
        with threadpool_limits(1):
            self._surrogate = fit_surrogate(drivers_of(self._components, self._work), label_ms, limits, shapes)
            self._error = self._surrogate.mape
            if len(places) >= self._budget.first and self._error <= _WORTH_A_FIT * self._budget.goal:
                self._error = self._error_of_cost_model(label_ms, limits)
        self.curve.append((len(places), self._error))
        if len(places) >= self._budget.first and self._error <= self._budget.goal:
            self.stop("goal")

    def _error_of_cost_model(self, label_ms: Floats, limits: PhysicalLimits) -> float:
        family = fit_family(self.space.family, self._components, label_ms, self._work, limits, seed=self._seed)
        held_out = family.held_out
        return float(np.mean(np.abs(held_out.predicted_ms / held_out.measured_ms - 1)))

    def next(self, count: int) -> tuple[Component, ...]:
        """At most so many components that were not asked for yet; none where the space has no more."""
        if self._surrogate is None:
            chosen = [*self.space.corners(self._work)][:count]
            chosen = [one for one in chosen if one not in self._asked]
            chosen += self._fresh(count - len(chosen), beside=chosen)
        else:
            chosen = self._least_certain(self._surrogate, count - count // 2)
            # Half a round fills the space further, whatever the surrogate believes of it.
            chosen += self._fresh(count - len(chosen), beside=chosen)
        self._asked.update(chosen)
        return tuple(chosen)

    def _least_certain(self, surrogate: Surrogate, count: int) -> list[Component]:
        candidates = self._candidates()
        if not candidates:
            return []
        with threadpool_limits(1):
            return [candidates[place] for place in surrogate.choose(drivers_of(candidates, self._work), count)]

    def _candidates(self) -> list[Component]:
        """Known components not yet asked for, and as many drawn ones as make up the number."""
        known = [one for one in self.space.known if one not in self._asked]
        known = sorted(known, key=lambda one: one.content_hash(""))[:_CANDIDATES]
        self._waiting = [one for one in self._waiting if one not in self._asked]
        missing = _CANDIDATES // 2 - len(self._waiting)
        self._waiting += self._fresh(missing, beside=self._waiting)
        return list(dict.fromkeys((*known, *self._waiting)))

    def _fresh(self, count: int, *, beside: list[Component]) -> list[Component]:
        taken = {*self._asked, *beside}
        return list(islice((one for one in self._draws if one not in taken), max(0, count)))

    def _is_mine(self, component: Component) -> bool:
        if component.kind != self.space.kind or family_of(component) != self.space.family:
            return False
        names = sorted(name for name, value in component.shape if not isinstance(value, str))
        return names == sorted(one.name for one in self.space.dimensions if one.name != "batch")
