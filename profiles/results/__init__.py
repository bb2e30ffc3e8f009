"""The forms in which a profile is written: JSON, CSV, Parquet, HTML, TensorBoard; more by `result_writers.register`."""

from collections.abc import Callable
from importlib import import_module

from profiles.registry import Registry
from profiles.results.profile_file import PROFILE_FILE, PROFILE_SCHEMA, load_profile, save_profile
from profiles.results.protocol import ResultWriter
from profiles.results.terminal import profile_lines

__all__ = [
    "PROFILE_FILE",
    "PROFILE_SCHEMA",
    "ResultWriter",
    "load_profile",
    "profile_lines",
    "result_writers",
    "save_profile",
]

result_writers: Registry[Callable[[], ResultWriter]] = Registry("result writer", entry_point_group="recplan.results")


def _on_use(module: str, name: str) -> Callable[[], ResultWriter]:
    """A factory that imports the writer's module, and with it Polars or Altair, when a writer is made."""

    def make() -> ResultWriter:
        writer: ResultWriter = getattr(import_module(module), name)()
        return writer

    return make


for _name, _module, _class in (
    ("json", "profiles.results.profile_file", "JsonWriter"),
    ("csv", "profiles.results.tables", "CsvWriter"),
    ("parquet", "profiles.results.tables", "ParquetWriter"),
    ("html", "profiles.results.page", "HtmlWriter"),
    ("charts", "profiles.results.charts_writer", "ChartsWriter"),
    ("tensorboard", "profiles.results.tensorboard", "TensorBoardWriter"),
):
    result_writers.register(_name, _on_use(_module, _class))
