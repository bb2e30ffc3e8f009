from typing import Any

import altair as alt
import polars as pl
import pytest

from profiles.charts import PALETTE, provenance_colour, provenance_dash, themed
from profiles.charts.theme import PROVENANCE_COLOURS, PROVENANCE_DASHES


def plain() -> alt.Chart:
    chart: alt.Chart = alt.Chart(pl.DataFrame({"x": [1], "provenance": ["measured"]})).mark_line()
    return chart


def test_a_themed_chart_has_the_shared_colours_and_the_original_has_not() -> None:
    chart = plain()
    assert themed(chart).to_dict()["config"]["range"]["category"] == list(PALETTE)
    assert "view" not in chart.to_dict().get("config", {}) or chart.config is alt.Undefined


@pytest.mark.parametrize("kind", ["layer", "hconcat", "vconcat"])
def test_compound_charts_can_be_themed(kind: str) -> None:
    compound: Any = {"layer": alt.layer, "hconcat": alt.hconcat, "vconcat": alt.vconcat}[kind](plain(), plain())
    assert themed(compound).to_dict()["config"]["title"]["anchor"] == "start"


def test_measured_and_estimated_differ_in_colour_and_in_dashes() -> None:
    encoded = plain().encode(color=provenance_colour(), strokeDash=provenance_dash()).to_dict()["encoding"]
    assert encoded["color"]["scale"]["range"] == list(PROVENANCE_COLOURS.values())
    assert encoded["strokeDash"]["scale"]["domain"] == list(PROVENANCE_DASHES)
    assert len(set(PROVENANCE_COLOURS.values())) == len(PROVENANCE_COLOURS)
    assert len({tuple(dash) for dash in PROVENANCE_DASHES.values()}) == len(PROVENANCE_DASHES)
