"""Names in a study that point elsewhere: a data source, its columns, traces, an id log."""

from collections.abc import Iterable
from pathlib import Path

from planner.study.data import DataSection
from planner.study.model import ModelSection
from planner.study.workload import WorkloadSection, skew_log
from profiles.errors import InputError, UnknownNameError
from representations.datasets import base_features, dataset_loaders, features_of_source, needs_path
from serving_sim.traces import BUNDLED

__all__ = ["check_references"]


def check_references(data: DataSection, model: ModelSection, workload: WorkloadSection, folder: Path) -> None:
    """Look every name up, before anything is read or written; files are taken relative to `folder`.

    Raises:
        InputError: a name that nothing has, or a file that is not there; names the key.
    """
    if data.source not in dataset_loaders.names():
        raise UnknownNameError("data.source", data.source, dataset_loaders)
    if data.path is None and needs_path(data.source):
        raise InputError(f"data.path: is missing; {data.source} may not be redistributed, so name the file you have")
    known = features_of_source(data.source)
    for name in base_features(model.feature_names or ()):
        if known is not None and name not in known:
            raise UnknownNameError("model.features", name, known)
    plan = workload.to_plan(folder)
    if plan.arrivals.process == "trace":
        _check_trace("workload.arrivals", plan.arrivals.source, ("poisson", *BUNDLED))
    if plan.sizes.distribution == "trace":
        _check_trace("workload.sizes", plan.sizes.source, BUNDLED)
    skew_log(workload, folder)


def _check_trace(key: str, source: str, known: Iterable[str]) -> None:
    file = Path(source)
    if source in BUNDLED or file.is_file():
        return
    if file.suffix or len(file.parts) > 1:
        raise InputError(f"{key}: no such trace file: {source}")
    raise UnknownNameError(key, source, known)
