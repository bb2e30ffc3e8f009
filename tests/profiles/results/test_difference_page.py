import json
from dataclasses import replace
from pathlib import Path

from profiles.analyses.diff import ProfileDiff, diff_profiles
from profiles.results.difference_page import DIFF_SCHEMA, render_difference, write_difference
from tests.profiles.analyses.test_diff import SIX, profile
from tests.profiles.results.sample import EVIL


def found() -> ProfileDiff:
    after = profile({**SIX, "b": 3.0}, name=EVIL)
    rows = tuple(replace(row, spec='{"spec": "wider"}') if row.path == "b" else row for row in after.rows)
    return diff_profiles(profile(SIX), replace(after, rows=rows))


def test_page_json_and_charts_are_written(tmp_path: Path) -> None:
    files = write_difference(found(), tmp_path)
    names = [str(file.relative_to(tmp_path)) for file in files]
    assert names == ["diff.html", "diff.json", "charts/diff-latency_ms.json", "charts/diff-flops.json"]
    body = json.loads(files[1].read_text(encoding="utf-8"))
    assert (body["schema"], body["metrics"]["latency_ms"]["named"]) == (DIFF_SCHEMA, ["b"])
    page = files[0].read_text(encoding="utf-8")
    assert "<img src=x" not in page
    assert "net → &lt;img src=x onerror=alert(1)&gt;" in page
    assert '<tr class="" data-search="b">' in page
    assert 'data-chart="diff-latency_ms"' in page


def test_equal_profiles_give_a_page_that_says_so() -> None:
    page = render_difference(diff_profiles(profile(SIX), profile(SIX)))
    assert "No module was made otherwise." in page
    assert "no change" in page
    assert "data-chart=" not in page
