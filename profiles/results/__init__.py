"""The forms in which a profile is written: JSON, CSV, Parquet, HTML, TensorBoard; more by `result_writers.register`."""

from collections.abc import Callable

from profiles.registry import Registry
from profiles.results.protocol import ResultWriter

__all__ = ["ResultWriter", "result_writers"]

result_writers: Registry[Callable[[], ResultWriter]] = Registry("result writer", entry_point_group="recplan.results")
