import json

from profiles.charts.offline import chart_config, page_chart, script_json, vega_bundle
from profiles.charts.theme import PALETTE


def test_a_name_in_json_cannot_end_its_script() -> None:
    text = script_json({"name": "</script><!-- &\u2028"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"name": "</script><!-- &\u2028"}


def test_a_chart_fills_its_column_and_leaves_its_title_to_the_page() -> None:
    spec = page_chart({"mark": "bar", "title": "T", "width": 500})
    assert (spec["width"], "title" in spec) == ("container", False)


def test_views_side_by_side_keep_their_widths() -> None:
    assert "width" not in page_chart({"hconcat": []})


def test_the_bundle_cannot_end_its_script() -> None:
    assert "vegaEmbed" in vega_bundle()
    assert "</script" not in vega_bundle()


def test_colours_of_marks_show_on_white() -> None:
    assert set(chart_config()["range"]["category"]) == set(PALETTE) - {"#F0E442"}
