"""Trials on a Ray cluster: plain tasks that end in any order; the driver alone tells the journal."""

import logging
import os
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

import ray
from ray.exceptions import RayError, RayTaskError

from planner.search.evaluation import RungStep, Trained, Trainer, train_step
from profiles.errors import InputError, MeasurementError, RecplanError
from representations.specs import ModelSpec

__all__ = ["RayTrials", "train_candidate"]


def train_candidate(train: Trainer, spec: ModelSpec, seed: int, step: RungStep | None) -> Trained:
    """What a worker runs."""
    return train_step(train, spec, seed, step)


class RayTrials:
    """Trains on `address`: `local` starts a cluster of this machine, `auto` or `ray://host:port` joins one.

    A cluster that this process has joined already is used as it is. A trial whose worker is lost is started again up to
    `retries` times. `slots` candidates train at a time (as many as the cluster has room for by default), each on
    `cpus_per_trial` CPUs and `gpus_per_trial` GPUs, which may be a part of one, and what else of the cluster's own
    `resources` a trial needs.

    Raises:
        InputError: no such resources in the cluster, or fewer than one trial needs.
    """

    def __init__(
        self,
        train: Trainer,
        *,
        address: str = "local",
        slots: int | None = None,
        cpus_per_trial: int = 1,
        gpus_per_trial: float = 0.0,
        resources: Mapping[str, float] | None = None,
        retries: int = 3,
    ) -> None:
        self._trainer = train
        self._address, self._wanted_slots = address, slots
        self._cpus, self._gpus, self._others = cpus_per_trial, gpus_per_trial, dict(resources or {})
        self._retries = retries
        self._running: dict[Any, tuple[int, str]] = {}
        self._has_connected = False

    def __enter__(self) -> Self:
        if not ray.is_initialized():
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            # Ray allows no settings where it joins a cluster.
            dashboard = False if self._address == "local" else None
            ray.init(
                address=self._address,
                log_to_driver=False,
                logging_level=logging.ERROR,
                include_dashboard=dashboard,
            )
            self._has_connected = True
        self._shared_trainer = ray.put(self._trainer)
        self._task = ray.remote(
            num_cpus=self._cpus, num_gpus=self._gpus, resources=self._others, max_retries=self._retries
        )(train_candidate)
        self._require_room()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for reference in self._running:
            ray.cancel(reference, force=True)
        self._running.clear()
        if self._has_connected:
            ray.shutdown()
            self._has_connected = False

    @property
    def slots(self) -> int:
        """As asked for, or as many as the cluster has room for now, which nodes may leave and join."""
        if self._wanted_slots is not None:
            return self._wanted_slots
        found: Callable[[], dict[str, float]] = ray.cluster_resources
        there = found()
        room = [int(there.get(name, 0.0) / needed + 1e-9) for name, needed in self._needed.items() if needed]
        return max(1, min(room, default=1))

    @property
    def _needed(self) -> dict[str, float]:
        return {"CPU": float(self._cpus), "GPU": self._gpus, **self._others}

    def _require_room(self) -> None:
        """GPUs and named resources must be there, as Ray would wait for them for ever."""
        found: Callable[[], dict[str, float]] = ray.cluster_resources
        there = found()
        for name, needed in {"GPU": self._gpus, **self._others}.items():
            if needed > there.get(name, 0.0):
                raise InputError(f"ray: a trial needs {needed:g} {name}, but the cluster has {there.get(name, 0.0):g}")

    def submit(self, number: int, spec: ModelSpec, seed: int, step: RungStep | None = None) -> None:
        """Start the task."""
        self._running[self._task.remote(self._shared_trainer, spec, seed, step)] = (number, spec.name)

    def wait(self) -> tuple[int, Trained | MeasurementError]:
        """The result of the next task to end.

        Raises:
            Exception: what the trainer raised.
            RecplanError: its worker was lost more often than it may be.
        """
        ended, _ = ray.wait(list(self._running), num_returns=1)
        number, name = self._running.pop(ended[0])
        try:
            trained: Trained = ray.get(ended[0])
        except RayTaskError as error:
            if isinstance(error.cause, MeasurementError):
                return number, error.cause
            # Ray's own message is the worker's whole traceback; that stays behind the error as its cause.
            raise error.cause from error
        except RayError as error:
            reason = str(error).splitlines()[0]
            raise RecplanError(f"trial {number} ({name}): its worker was lost too often: {reason}") from error
        return number, trained
