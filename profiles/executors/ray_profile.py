"""Profile one model on a Ray cluster: its modules in shares over the devices, one dedicated actor per device."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from profiles.errors import InputError, MeasurementError, RecplanError
from profiles.executors.connection import connect
from profiles.executors.profile_worker import Captured, Delivery, ProfileJob, ProfilingWorker
from profiles.executors.shares import Shares
from profiles.files import make_folder, replace_file
from profiles.hardware import LOCAL_CPU
from profiles.model_profile import ModelProfile
from profiles.part_file import PartFile, part_file
from profiles.preprocessors.protocol import Preprocessor
from profiles.profile_options import ProfileOptions, ProfileProgress
from profiles.profilers.protocol import Profiler
from profiles.providers.target import Target
from profiles.walk import merge_parts
from profiles.walk.module_part import ProfilePart

__all__ = ["profile_on_ray"]

_SHARES_PER_WORKER = 4
_MOST_MODULES = 16
Progress = Callable[[ProfileProgress], None]


def profile_on_ray(
    name: str,
    load: Callable[[], Target],
    *,
    address: str = "local",
    device: str = LOCAL_CPU,
    options: ProfileOptions | None = None,
    preprocessors: Sequence[Preprocessor] = (),
    profilers: Sequence[Profiler] = (),
    retries: int = 1,
    start_timeout_s: float = 300.0,
    progress: Progress | None = None,
) -> ModelProfile:
    """As `profiles.profile_target`, with the modules spread over the processors or the GPUs of a cluster.

    `load` makes the target called `name` on each worker. `address` is `local` (a cluster of this machine), `auto` or
    `ray://host:port`; a `device` other than `local-cpu` takes every GPU. Where `options.folder` is given, each part
    is on the disk there as soon as it is measured (`parts.jsonl`), and the same request for a model of the same
    modules, shapes and inputs goes on from there; files of profilers are brought to it, too. `part_file` of the same
    request removes its parts (`PartFile.clear`) once the profile is saved.

    A worker that dies loses the share at hand, which others measure; a module at which workers die again and again
    gets a row with that reason.

    Raises:
        MeasurementError: no worker starts or none is left, or `load` does not make the same model everywhere.
    """
    options = options or ProfileOptions()
    start = time.perf_counter()
    job = ProfileJob(load=load, options=options, preprocessors=preprocessors, profilers=profilers)
    file = part_file(name, options, preprocessors, profilers)
    with _connected(address):
        crew = _Crew(job, device, start_timeout_s)
        try:
            parts = list(_Spread(crew, file, options, retries).parts(progress))
        finally:
            crew.dismiss()
    return replace(merge_parts(parts), name=name, profile_seconds=time.perf_counter() - start)


@dataclass(eq=False, slots=True)
class _Worker:
    node: str
    actor: Any
    share: tuple[str, ...] = ()


class _Crew:
    """The workers: one per GPU, or per node's processor."""

    def __init__(self, job: ProfileJob, device: str, start_timeout_s: float) -> None:
        # One copy for all actors, however many are started.
        self._job = ray.put(job)
        self._uses_gpus = device != LOCAL_CPU
        self._threads = job.options.threads or 1
        self._start_timeout_s = start_timeout_s
        self.workers: list[_Worker] = []
        self.device_keys: set[str] = set()
        self.model = ""
        self.paths: tuple[str, ...] = ()

    def fill(self) -> None:
        """Start a worker on every device of a living node that has none; those that cannot start are left out.

        Raises:
            MeasurementError: there is no worker then, or they hold different models.
            InputError: the target cannot be loaded.
        """
        started = [self._start(node) for node in self._free_nodes()]
        failures = []
        for worker, answer in started:
            try:
                captured = ray.get(answer, timeout=self._start_timeout_s)
            except ray.exceptions.RayTaskError as error:
                raise _own_error(error) from error
            except (ray.exceptions.RayError, TimeoutError) as error:
                failures.append(str(error).splitlines()[0])
                ray.kill(worker.actor)
            else:
                self._know(captured)
                self.workers.append(worker)
        if not self.workers:
            reason = failures[0] if failures else "the cluster has no such device"
            raise MeasurementError(f"profile on Ray: no worker could be started: {reason}")

    def shares(self) -> Mapping[str, float]:
        """Each module's part of the model's time, as the first worker that lives sees it."""
        while True:
            worker = self.workers[0]
            try:
                shares: Mapping[str, float] = ray.get(worker.actor.shares.remote())
            except ray.exceptions.RayTaskError as error:
                raise _own_error(error) from error
            except ray.exceptions.RayError:
                self.forget(worker)
                self.fill()
            else:
                return shares

    def forget(self, worker: _Worker) -> None:
        """The worker is gone."""
        self.workers.remove(worker)
        ray.kill(worker.actor)

    def dismiss(self) -> None:
        """End all workers."""
        for worker in tuple(self.workers):
            self.forget(worker)

    def _know(self, captured: Captured) -> None:
        if self.model not in ("", captured.model):
            raise MeasurementError(
                "profile on Ray: the workers hold different models; `load` must make the same modules and the same "
                "shapes of inputs everywhere"
            )
        self.model, self.paths = captured.model, captured.paths
        self.device_keys.add(captured.device_key)

    def _start(self, node: str) -> tuple[_Worker, Any]:
        cpus, gpus = (0, 1) if self._uses_gpus else (self._threads, 0)
        here = NodeAffinitySchedulingStrategy(node_id=node, soft=False)
        remote: Any = ray.remote
        actor_class = remote(num_cpus=cpus, num_gpus=gpus, scheduling_strategy=here)(ProfilingWorker)
        # Ray shows an actor only the GPU it was given, which torch then counts from 0.
        actor = actor_class.remote(self._job, "cuda:0" if self._uses_gpus else LOCAL_CPU)
        return _Worker(node, actor), actor.prepare.remote()

    def _free_nodes(self) -> Iterator[str]:
        cluster: Any = ray
        for node in cluster.nodes():
            if node["Alive"]:
                has = node["Resources"]
                places = int(has.get("GPU", 0)) if self._uses_gpus else int(has.get("CPU", 0) >= self._threads)
                busy = sum(worker.node == node["NodeID"] for worker in self.workers)
                yield from [node["NodeID"]] * (places - busy)


class _Spread:
    """Hands shares to the workers until every module is measured or given up."""

    def __init__(self, crew: _Crew, file: PartFile | None, options: ProfileOptions, retries: int) -> None:
        self._crew, self._file, self._folder, self._retries = crew, file, options.folder, retries
        self._decides = options.min_share > 0
        self._tries = "once" if not retries else f"{retries + 1} times in a row"
        self._running: dict[Any, _Worker] = {}
        # By these it is decided for all workers which modules take too little time to be run alone.
        self._shares: Mapping[str, float] | None = None

    def parts(self, progress: Progress | None) -> Iterator[ProfilePart]:
        """Those that lie in the file, then the others as they come."""
        crew, start = self._crew, time.perf_counter()
        crew.fill()
        self._shares = crew.shares() if self._decides else None
        known = self._file.parts(frozenset(crew.device_keys), crew.model) if self._file else []
        yield from known
        found = {module.row.path for part in known for module in part.modules}
        left = [path for path in dict.fromkeys(crew.paths) if path not in found]
        size = max(1, min(_MOST_MODULES, len(left) // (_SHARES_PER_WORKER * len(crew.workers))))
        shares = Shares(left, size, retries=self._retries)
        while shares.left:
            self._hand_out(shares)
            for part in self._collect(shares):
                yield part
                if progress:
                    progress(_progress(part, len(left), shares.left, time.perf_counter() - start))

    def _hand_out(self, shares: Shares) -> None:
        for worker in self._crew.workers:
            if not worker.share and shares.is_waiting:
                worker.share = shares.take()
                self._running[worker.actor.measure.remote(worker.share, self._shares)] = worker

    def _collect(self, shares: Shares) -> Iterator[ProfilePart]:
        """What one of the running shares gave, or, if its worker died, what is given up by that."""
        (answer,), _ = ray.wait(list(self._running), num_returns=1)
        worker = self._running.pop(answer)
        share, worker.share = worker.share, ()
        try:
            delivery = ray.get(answer)
        except ray.exceptions.RayTaskError as error:
            raise _own_error(error) from error
        except ray.exceptions.RayError as error:
            self._crew.forget(worker)
            path = shares.lost(share)
            self._crew.fill()
            if path is not None:
                yield self._given_up(path, f"workers died at it {self._tries}: {str(error).splitlines()[0]}")
        else:
            shares.done(share)
            yield self._kept(delivery)

    def _given_up(self, path: str, reason: str) -> ProfilePart:
        """Its row, which is not kept: the same request would try again."""
        worker = next((one for one in self._crew.workers if not one.share), self._crew.workers[0])
        try:
            part: ProfilePart = ray.get(worker.actor.given_up.remote(path, reason))
        except ray.exceptions.RayError as error:
            raise MeasurementError(f"profile on Ray: {path!r}: {reason}; then {error}") from error
        return part

    def _kept(self, delivery: Delivery) -> ProfilePart:
        """The part, once it and its files are on the disk."""
        if self._folder and self._file:
            for name, content in delivery.files.items():
                path = self._folder / name
                make_folder(path.parent)
                replace_file(path, content)
            self._file.append(delivery.part, self._crew.model)
        return delivery.part


def _progress(part: ProfilePart, total: int, left: int, elapsed_s: float) -> ProfileProgress:
    done = total - left
    return ProfileProgress(
        path=part.modules[0].row.path,
        done=done,
        total=total,
        elapsed_s=elapsed_s,
        remaining_s=elapsed_s / max(done, 1) * left,
    )


def _own_error(error: Any) -> RecplanError:
    """What the worker's code raised, as an error of ours."""
    cause = error.cause
    if isinstance(cause, InputError):
        return cause
    return MeasurementError(f"profile on Ray: {type(cause).__name__}: {cause}")


@contextmanager
def _connected(address: str) -> Iterator[None]:
    """Connected to the cluster; one that is joined already stays so."""
    has_connected = connect(address)
    try:
        yield
    finally:
        if has_connected:
            ray.shutdown()
