"""Finds how single calls lie about labels (`Scatter`) from what was measured.

Labels are of moments without a neighbour on the core. Whoever serves cannot choose the moment: models called one after
the other, whatever the core, say how much slower the usual call is. Where none were, the scatter of the label's own
calls has to do. Quartiles tell sigma: log(p75 / p25) is 1.349 sigma. Timing averages short calls over samples of a
least length, which hides scatter, so that whole models, whose calls are long enough to be samples of their own, are
believed first.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from planner.cost_model.scatter import IDLED_MS, Scatter
from planner.cost_model.training_rows import (
    IDLED_MODEL,
    SERVED_MODEL,
    WHOLE_MODEL,
    WHOLE_MODELS,
    component_of,
    is_contended,
)
from profiles.records import ComponentProfile, Latency
from profiles.timing import TimingOptions

__all__ = ["MOST_SIGMA", "scatter_of", "scatter_of_profiles", "usual_scatter"]

# The quartiles of a standard normal distribution lie so far from each other.
_QUARTILE_RANGE = 1.349
# Single calls that differ by a factor of e either way tell of the machine's other work, not of a model.
MOST_SIGMA = 1.0


def scatter_of_profiles(profiles: Sequence[ComponentProfile]) -> Scatter:
    """From whole models timed as they come where there are some, else from how labels' own calls scatter."""
    measured = [(row, row.warm) for row in profiles if row.provenance == "measured" and row.warm]
    usual, labelled, idled = (
        {(component_of(row).shape, row.batch): warm for row, warm in measured if row.kind == kind}
        for kind in (SERVED_MODEL, WHOLE_MODEL, IDLED_MODEL)
    )
    components = [warm for row, warm in measured if row.kind not in WHOLE_MODELS]
    return usual_scatter(usual, labelled, idled) or scatter_of(tuple(labelled.values()), components)


def usual_scatter(
    usual: Mapping[Any, Latency], labelled: Mapping[Any, Latency], idled: Mapping[Any, Latency]
) -> Scatter | None:
    """From whole models, by model and batch: timed as they come, as labels are, and after pauses. None where none is
    in the first two.

    The medians over models of how much slower the usual call is (no less than 1) and of how these calls scatter; the
    median of how much longer the call after a pause takes (no less than 0), which differs little from model to model.
    """
    both = [name for name in usual if name in labelled]
    if not both:
        return None
    slower = max(1.0, float(np.median([usual[name].median_ms / labelled[name].p25_ms for name in both])))
    sigma = float(np.median([_sigma(usual[name]) for name in both]))
    source = f"whole models called whatever the core ({len(both)})"
    note = f"the usual call takes {slower:.3g} times its label and scatters by a sigma of {min(sigma, MOST_SIGMA):.2g}"
    cap = f", capped from {sigma:.2g}: measure anew" if sigma > MOST_SIGMA else ""
    notes = [f"{note}{cap}, from {source}"]
    longer = [idled[name].median_ms - usual[name].median_ms for name in usual if name in idled]
    idled_ms = max(0.0, float(np.median(longer))) if longer else 0.0
    if idled_ms:
        notes.append(f"after {IDLED_MS:g} ms of idleness a call takes {idled_ms:.2g} ms longer, from {source}")
    return Scatter(sigma=min(sigma, MOST_SIGMA), median_over_label=slower, idled_ms=idled_ms, notes=tuple(notes))


def scatter_of(models: Sequence[Latency], components: Sequence[Latency]) -> Scatter:
    """The median sigma of whole models whose samples are single calls, else of components, corrected for averaging.

    Rows measured without contention go before those measured with it.
    """
    single = [one for one in models if _calls_per_sample(one) == 1]
    chosen, source = (single, "whole models") if single else (components, "components")
    if not chosen:
        return Scatter()
    calm = [one for one in chosen if not is_contended(one)]
    sigma = float(np.median([_sigma(one) for one in calm or chosen]))
    if sigma <= MOST_SIGMA:
        return Scatter(sigma=sigma, notes=(f"single queries scatter by a sigma of {sigma:.2g}, from {source}",))
    note = f"single queries scatter by a sigma of {sigma:.2g}, from {source}: taken as {MOST_SIGMA:g}, measure anew"
    return Scatter(sigma=MOST_SIGMA, notes=(note,))


def _sigma(latency: Latency) -> float:
    """Of single calls; where a sample is the mean of n, as if calls were independent: n times the variance."""
    calls = _calls_per_sample(latency)
    sigma = math.log1p(latency.iqr_ms / latency.p25_ms) / _QUARTILE_RANGE
    return sigma if calls == 1 else math.sqrt(math.log1p(calls * math.expm1(sigma**2)))


def _calls_per_sample(latency: Latency) -> int:
    return max(1, math.ceil(TimingOptions().min_sample_ms / latency.p25_ms))
