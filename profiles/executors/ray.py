"""Measure on a Ray cluster: one dedicated actor per device, the driver alone writes."""

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Self

import ray

from profiles.component import Component
from profiles.errors import MeasurementError
from profiles.executors.connection import connect
from profiles.executors.restarts import WorkerDiedError, run_with_restarts
from profiles.executors.worker import MeasuringWorker
from profiles.hardware import LOCAL_CPU
from profiles.measure import skipped_row
from profiles.providers.protocol import ComponentProvider
from profiles.records import ComponentProfile, Fingerprint
from profiles.sweep_options import SweepOptions
from profiles.visits import VisitLog, rows_of

__all__ = ["RayExecutor"]


class RayExecutor:
    """Measures on `address`: `local` starts a cluster of this machine, `auto` or `ray://host:port` joins one.

    Connects at the first use; `close`, or leaving it as a context manager, ends its actors, and the cluster if it
    started that. Concurrent measurements spoil each other: run one sweep per device at a time.
    """

    def __init__(self, address: str = "local", *, retries: int = 1, start_timeout_s: float = 300.0) -> None:
        self._address = address
        self._retries = retries
        self._start_timeout_s = start_timeout_s
        self._workers: dict[tuple[str, int], Any] = {}
        self._has_connected = False

    def devices(self) -> tuple[str, ...]:
        """A processor of the cluster, and the GPU that an actor with one gets where the cluster has any.

        Of a cluster with several kinds of GPU that is one kind.
        """
        self._connect()
        cluster: Any = ray
        if not cluster.cluster_resources().get("GPU"):
            return (LOCAL_CPU,)
        seen = self._ask("cuda", 1, "devices")
        # The actor would keep its GPU from the one that measures.
        self._forget("cuda", 1)
        return tuple(dict.fromkeys((LOCAL_CPU, *seen)))

    def fingerprint(self, device: str, threads: int) -> Fingerprint:
        """The fingerprint that the actor of that device reports."""
        fingerprint: Fingerprint = self._ask(device, threads, "fingerprint")
        return fingerprint

    def measure(
        self,
        groups: Sequence[tuple[Component, ...]],
        provider: ComponentProvider,
        device: str,
        options: SweepOptions,
        visits: VisitLog | None = None,
    ) -> Iterator[ComponentProfile]:
        """Rows group by group; a group whose actor died goes on, after its visits so far, on a new one."""
        fingerprint = self.fingerprint(device, options.threads)
        log = visits or VisitLog()

        def run(group: tuple[Component, ...]) -> Iterator[ComponentProfile]:
            known = log.of(component.content_hash(fingerprint.device_key()) for component in group)
            worker = self._worker(device, options.threads)
            stream = worker.measure.options(num_returns="streaming")
            try:
                yield from rows_of(map(ray.get, stream.remote(group, provider, options, known)), log)
            except ray.exceptions.RayActorError as error:
                self._forget(device, options.threads)
                raise WorkerDiedError(str(error).splitlines()[0]) from error

        def give_up(component: Component, reason: str) -> ComponentProfile:
            return skipped_row(component, fingerprint, reason)

        return run_with_restarts(groups, run, give_up, retries=self._retries)

    def close(self) -> None:
        """End the actors, and the cluster if this executor started it."""
        for worker in self._workers.values():
            ray.kill(worker)
        self._workers.clear()
        if self._has_connected:
            ray.shutdown()
            self._has_connected = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, device: str, threads: int, question: str) -> Any:
        worker = self._worker(device, threads)
        try:
            return ray.get(getattr(worker, question).remote(), timeout=self._start_timeout_s)
        except (ray.exceptions.RayActorError, ray.exceptions.GetTimeoutError) as error:
            self._forget(device, threads)
            raise MeasurementError(
                f"the measuring worker of {device!r} did not start within {self._start_timeout_s:g} s: {error}"
            ) from error

    def _worker(self, device: str, threads: int) -> Any:
        self._connect()
        key = (device, threads)
        if key not in self._workers:
            # The worker sets its thread count itself: in a used process that Ray hands out, OMP_NUM_THREADS comes late.
            gpus = 0 if device == LOCAL_CPU else 1
            actor = ray.remote(num_cpus=1 - gpus, num_gpus=gpus)(MeasuringWorker)
            # Ray shows an actor only the GPU it was given, which torch then counts from 0.
            seen_as = "cuda:0" if device.startswith("cuda") else device
            self._workers[key] = actor.remote(seen_as, threads)
        return self._workers[key]

    def _forget(self, device: str, threads: int) -> None:
        worker = self._workers.pop((device, threads))
        ray.kill(worker)

    def _connect(self) -> None:
        self._has_connected |= connect(self._address)
