"""Plans that come with the package, by name; any command that takes a plan file takes one of these names too.

`python -m planner.mapping.preset_plans` makes them anew.
"""

from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from profiles.edge import read_json
from profiles.errors import UnknownNameError

__all__ = ["PRESETS", "preset_body"]

PRESETS = ("mlperf-dlrm-v2", "mlperf-dlrm-v3", "mp-rec-hw1", "mp-rec-hw2", "mp-rec-hw3")


def preset_body(name: str) -> dict[str, Any]:
    """The JSON form of the preset of that name; an `UnknownNameError` lists the known ones."""
    if name not in PRESETS:
        raise UnknownNameError("preset", name, PRESETS)
    with as_file(files("serving_sim.presets").joinpath("data", f"{name}.json")) as file:
        return read_json(Path(file))
