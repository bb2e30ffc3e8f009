"""The charts of a profile as Vega-Lite files, for other pages and editors."""

import json
from pathlib import Path

from profiles.files import make_folder, replace_file
from profiles.model_profile import ModelProfile
from profiles.results.page_charts import profile_charts

__all__ = ["ChartsWriter"]


class ChartsWriter:
    """Writes `charts/NAME.json`, one Vega-Lite spec per chart with its data."""

    name = "charts"

    def write(self, profile: ModelProfile, folder: Path) -> Path:
        """Write and return the folder; files of charts that are no longer drawn are removed.

        Raises:
            StorageError: the disk is full or the folder is not writable.
        """
        place = make_folder(folder / "charts")
        charts = profile_charts(profile)
        for chart in charts:
            replace_file(place / f"{chart.name}.json", json.dumps(chart.spec, allow_nan=False) + "\n")
        written = {f"{chart.name}.json" for chart in charts}
        for file in place.glob("*.json"):
            if file.name not in written:
                file.unlink()
        return place
