"""Joining a Ray cluster, or starting one of this machine."""

import logging
import os
import socket

import ray

from profiles.errors import InputError, MeasurementError

__all__ = ["connect"]

_REACHED_WITHIN_S = 5.0


def connect(address: str) -> bool:
    """Join the cluster at `address`, or start one where it is `local`; false where Ray is connected already.

    Raises:
        InputError: nothing answers at the address.
        MeasurementError: Ray does not start, on a machine that is too busy say.
    """
    if ray.is_initialized():
        return False
    _check_reachable(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    include_dashboard = False if address == "local" else None
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=include_dashboard)
    except ConnectionError as error:
        raise InputError(f"ray: no cluster at {address!r}: {_first_line(error)}") from error
    except Exception as error:  # Ray raises bare ones where its own processes do not start in time.
        raise MeasurementError(f"ray: could not start or join {address!r}: {_first_line(error)}") from error
    return True


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _check_reachable(address: str) -> None:
    """Ray itself waits for minutes, and complains on the terminal meanwhile."""
    host, separator, port = address.removeprefix("ray://").rpartition(":")
    if not separator:
        return
    if not port.isdigit():
        raise InputError(f"ray: the address must end in a port, but got {address!r}")
    try:
        socket.create_connection((host, int(port)), timeout=_REACHED_WITHIN_S).close()
    except (OSError, OverflowError) as error:
        raise InputError(f"ray: nothing answers at {address!r}: {error}") from error
