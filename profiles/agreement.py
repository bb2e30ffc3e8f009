"""When visits agree: a machine's usual speed is what visits apart in time were equally fast at.

On a shared machine slow spells last for seconds, cost up to a factor of two, and do not show in wall over CPU time.
Visits one after the other may lie in one spell; the fastest ones with another in between hardly do. Quartiles or
medians over all visits mix both states.
"""

import math
from collections.abc import Sequence

from profiles.visits import Sample

__all__ = ["VISITS_APART", "agreeing", "apart", "has_settled", "quartile_ms"]

VISITS_APART = "visits_apart"
_LEAST_SPAN = 2


def quartile_ms(samples: Sequence[Sample]) -> float:
    """The sample that a quarter of them is faster than."""
    return sorted(sample.latency_ms for sample in samples)[len(samples) // 4]


def agreeing(visits: Sequence[Sequence[Sample]], share: float) -> tuple[int, ...]:
    """Places of the visits whose quartiles are within that share of the fastest one's; of the two fastest at least."""
    quartiles = [quartile_ms(samples) for samples in visits]
    near = [place for place, quartile in enumerate(quartiles) if quartile <= min(quartiles) * (1 + share)]
    fastest = sorted(range(len(visits)), key=quartiles.__getitem__)[:2]
    return tuple(sorted({*near, *fastest}))


def has_settled(visits: Sequence[Sequence[Sample]], share: float) -> bool:
    """Whether two visits that were not made one after the other are within that share of the fastest."""
    quartiles = [quartile_ms(samples) for samples in visits]
    near = [place for place, quartile in enumerate(quartiles) if quartile <= min(quartiles) * (1 + share)]
    return near[-1] - near[0] >= _LEAST_SPAN


def apart(visits: Sequence[Sequence[Sample]]) -> float:
    """How much slower the second fastest visit is than the fastest, as a fraction; infinite for a single one."""
    first, *rest = sorted(quartile_ms(samples) for samples in visits)
    return rest[0] / first - 1 if rest and first > 0 else math.inf
