"""Mean waits of queues that have a formula: what the simulator is held against.

Times are in one unit of the caller's choice, rates in its inverse. Waits are in the queue, service not included.
Sources: A. K. Erlang 1917 (M/M/c), Pollaczek 1930 and Khinchine 1932 (M/G/1); any queueing textbook.
"""

from profiles.errors import InputError

__all__ = ["erlang_c", "md1_mean_wait", "mg1_mean_wait", "mmc_mean_wait"]


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


def _require_stable(servers: int, offered: float) -> None:
    if servers < 1:
        raise InputError(f"servers: must be >= 1, but got {servers}")
    if not 0 <= offered < servers:
        raise InputError(f"offered load: must be in [0, servers = {servers}), but got {offered}")
