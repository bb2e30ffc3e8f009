"""Queues that have a formula: mean waits, and how far a mean over a run of queries scatters about them.

Times are in one unit of the caller's choice, rates in its inverse. Waits are in the queue, service not included.
Sources: A. K. Erlang 1917 (M/M/c), Pollaczek 1930 and Khinchine 1932 (M/G/1), L. Takács 1962 (moments of its wait),
P. D. Welch 1964 (M/G/1 whose first service after idleness is another), D. J. Daley 1968 (asymptotic variance in M/M/1);
any queueing textbook.
"""

import math
from collections.abc import Sequence

from profiles.errors import InputError

__all__ = [
    "erlang_c",
    "exponential_moments",
    "lognormal_moments",
    "md1_mean_wait",
    "mg1_asymptotic_variance",
    "mg1_exceptional_first_mean_wait",
    "mg1_mean_wait",
    "mg1_wait_moments",
    "mmc_mean_wait",
]


def erlang_c(servers: int, offered: float) -> float:
    """Probability that a query waits in M/M/c; `offered` = arrival rate x mean service, below `servers`."""
    _require_stable(servers, offered)
    blocking = 1.0
    for used in range(1, servers + 1):
        blocking = offered * blocking / (used + offered * blocking)
    load = offered / servers
    return blocking / (1 - load * (1 - blocking))


def mmc_mean_wait(arrival_rate: float, mean_service: float, servers: int = 1) -> float:
    """M/M/c: `C(c, a) x s / (c - a)` with a = arrival rate x s."""
    offered = arrival_rate * mean_service
    return erlang_c(servers, offered) * mean_service / (servers - offered)


def mg1_mean_wait(arrival_rate: float, mean_service: float, service_cv: float) -> float:
    """M/G/1 (Pollaczek-Khinchine): `load x s x (1 + cv^2) / (2 (1 - load))`, cv that of the service time."""
    load = arrival_rate * mean_service
    _require_stable(1, load)
    return load * mean_service * (1 + service_cv**2) / (2 * (1 - load))


def md1_mean_wait(arrival_rate: float, mean_service: float) -> float:
    """M/D/1: M/G/1 with the same service time for all."""
    return mg1_mean_wait(arrival_rate, mean_service, 0.0)


def mg1_exceptional_first_mean_wait(
    arrival_rate: float, service_moments: Sequence[float], first_moments: Sequence[float]
) -> float:
    """M/G/1 where a query that finds the server idle is served in another time S0 than those that wait, S.

    `rate E S^2 / (2 (1 - load)) + rate (E S0^2 - E S^2) / (2 (1 - load + rate E S0))` (Welch 1964); both times by their
    first two moments.
    """
    load = arrival_rate * service_moments[0]
    _require_stable(1, load)
    more = (first_moments[1] - service_moments[1]) / (1 - load + arrival_rate * first_moments[0])
    return arrival_rate / 2 * (service_moments[1] / (1 - load) + more)


def mg1_wait_moments(arrival_rate: float, service_moments: Sequence[float]) -> tuple[float, float, float]:
    """The first three moments of the wait in M/G/1, from the first four of the service time.

    Takács' recursion: `E W^k = rate / (1 - load) x sum over i of C(k, i) E S^(i+1) / (i + 1) x E W^(k-i)`.
    """
    load = arrival_rate * service_moments[0]
    _require_stable(1, load)
    moments = [1.0]
    for k in (1, 2, 3):
        terms = (math.comb(k, i) * service_moments[i] / (i + 1) * moments[k - i] for i in range(1, k + 1))
        moments.append(arrival_rate / (1 - load) * sum(terms))
    return moments[1], moments[2], moments[3]


def mg1_asymptotic_variance(arrival_rate: float, service_moments: Sequence[float]) -> float:
    """Variance of the mean wait of n queries that follow each other in M/G/1, times n, for large n.

    Waits form the chain `W' = max(W + S - T, 0)` with exponential gaps T, where `h(w) = (w^2 + 2 w / rate) / (2 m)`,
    m = mean gap less mean service, solves Poisson's equation `h(w) - E h(W') = w - E W`: the overshoot below 0 is
    exponential, and its two terms cancel. The variance is then `2 Cov(h(W), W) - Var W` (S. Asmussen, Applied
    Probability and Queues, 2003, chapter I.7). For M/M/1 with a mean service of 1 it is Daley's
    `load (2 + 5 load - 4 load^2 + load^3) / (1 - load)^4`.
    """
    first, second, third = mg1_wait_moments(arrival_rate, service_moments)
    variance = second - first**2
    slack = 1 / arrival_rate - service_moments[0]
    return (third - second * first + 2 / arrival_rate * variance) / slack - variance


def exponential_moments(mean: float) -> tuple[float, float, float, float]:
    """The first four moments of an exponential time."""
    return mean, 2 * mean**2, 6 * mean**3, 24 * mean**4


def lognormal_moments(mean: float, sigma: float) -> tuple[float, float, float, float]:
    """The first four moments of a lognormal time; with sigma 0 it is constant."""
    first, second, third, fourth = (mean**k * math.exp(sigma**2 * k * (k - 1) / 2) for k in (1, 2, 3, 4))
    return first, second, third, fourth


def _require_stable(servers: int, offered: float) -> None:
    if servers < 1:
        raise InputError(f"servers: must be >= 1, but got {servers}")
    if not 0 <= offered < servers:
        raise InputError(f"offered load: must be in [0, servers = {servers}), but got {offered}")
