"""MP-Rec's online algorithm (Algorithm 2): the most accurate path that still holds the latency target."""

import math
from dataclasses import dataclass
from typing import ClassVar

from profiles.edge import STRICT
from profiles.errors import InputError, UnknownNameError
from serving_sim.kernels import Rule
from serving_sim.policies.policy import Entry, RoutingContext, table_paths, tiered_rule

__all__ = ["FINISH_IN_SLA", "PREDICATES", "SUSTAINS_RATE", "MpRec"]

FINISH_IN_SLA, SUSTAINS_RATE = "finish-in-sla", "sustains-rate"
PREDICATES = (FINISH_IN_SLA, SUSTAINS_RATE)


@dataclass(frozen=True, kw_only=True, slots=True)
class MpRec:
    """The most accurate path that passes `predicate`, else the fastest table (else the earliest path of all).

    In the paper's words: a hybrid that finishes within the target without throughput degradation, else DHE under the
    same test, else a table. Paths are tried by accuracy, most accurate first; of equally accurate ones the
    earliest wins.

    Predicates, as the paper leaves "without throughput degradation" open:

    - `finish-in-sla`: expected backlog + mean service <= SLA.
    - `sustains-rate`: that, and the path alone would sustain `share` of the offered samples per second at this size.

    The default is `sustains-rate` with the whole offered rate: on tables shaped like the paper's it served no fewer
    correct predictions in the SLA than switching between tables did, at every load tried, which is what "without
    degradation" asks. `finish-in-sla` fills the queues with slow work up to the SLA, and served fewer from 500 QPS on.
    """

    __pydantic_config__: ClassVar = STRICT
    name: ClassVar[str] = "mp-rec"
    predicate: str = SUSTAINS_RATE
    share: float = 1.0

    def __post_init__(self) -> None:
        if self.predicate not in PREDICATES:
            raise UnknownNameError("predicate", self.predicate, PREDICATES)
        if not (self.share >= 0 and math.isfinite(self.share)):
            raise InputError(f"share: must be finite and >= 0, but got {self.share}")

    def compile(self, context: RoutingContext) -> Rule:
        """Tiers of equal accuracy, the fastest table behind them."""
        accuracies = [path.accuracy for path in context.paths]
        ranks = sorted(set(accuracies), reverse=True)
        rate = self.share * context.offered_samples_per_ms if self.predicate == SUSTAINS_RATE else 0.0
        tested = [
            Entry(path=path, tier=ranks.index(accuracy), limit_ms=context.limits_ms, rate_per_ms=rate)
            for path, accuracy in enumerate(accuracies)
        ]
        fallback = [Entry(path=path, tier=len(ranks)) for path in table_paths(context.paths)]
        return tiered_rule(tested + fallback, context.servers_of_path)
