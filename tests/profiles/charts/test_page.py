from pathlib import Path

import altair as alt

from profiles.charts.page import save_chart_page


def test_a_page_has_its_title_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    chart = alt.Chart({"values": [{"a": 1, "b": 2}]}).mark_point().encode(x="a:Q", y="b:Q")
    save_chart_page(chart, "a < b", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    before_scripts = page.split("<script", 1)[0]
    assert "<title>a &lt; b</title>" in before_scripts
    assert "vega-bindings" in before_scripts
    assert 'src="http' not in page
    assert 'rel="stylesheet" href="http' not in page
