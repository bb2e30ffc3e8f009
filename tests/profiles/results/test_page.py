from collections import Counter
from html.parser import HTMLParser

import pytest

from profiles.profilers.protocol import Figure
from profiles.results.page import render_profile, summary_tiles
from profiles.results.page_blocks import Table
from profiles.results.page_charts import profile_charts
from profiles.results.page_inputs import short_inputs
from profiles.results.page_tables import page_tables
from tests.profiles.results.sample import EVIL, sample_profile
from tests.profiles.rows import latency, row


@pytest.fixture(scope="module")
def tables() -> dict[str, Table]:
    return {table.name: table for table in page_tables(sample_profile())}


def column(table: Table, title: str) -> list[str]:
    index = [column.title for column in table.columns].index(title)
    return [line.cells[index].text for group in table.groups for line in group.lines]


def test_components_of_one_depth_stand_together(tables: dict[str, Table]) -> None:
    groups = {group.heading: len(group.lines) for group in tables["components"].groups}
    assert groups == {"The model: 1 row": 1, "Depth 1: 4 rows": 4, "Depth 2: 2 rows": 2}


def test_the_columns_are_those_of_a_component_report(tables: dict[str, Table]) -> None:
    table = tables["components"]
    assert column(table, "Component")[:4] == ["net", "(self)", "a", "Σ list"]
    assert column(table, "Latency, ms")[:4] == ["10", "2", "5", "3"]
    assert (column(table, "Size, MB")[0], column(table, "TFLOP/s")[2]) == ("0.004", "2")
    assert (column(table, "MFU, %")[2], column(table, "GB/s")[2], column(table, "Peak, MB")[0]) == ("50", "25", "1")


def test_utilisation_does_not_apply_to_what_computes_nothing(tables: dict[str, Table]) -> None:
    shares = dict(zip(column(tables["components"], "Component"), column(tables["components"], "MFU, %"), strict=True))
    assert (shares["net"], shares["(self)"], shares["list.1"]) == ("30", "n/a", "")


def test_columns_of_the_report_that_nothing_fills_hold_dashes_and_say_why(tables: dict[str, Table]) -> None:
    assert set(column(tables["components"], "GPU, ms")) == {"–"}
    assert set(column(tables["components"], "Bandwidth use, %")) == {"–"}
    assert "GPU time, as kernels were not analysed" in tables["components"].note


def test_on_a_cpu_the_note_says_that_no_peak_is_known_and_no_gpu_took_part() -> None:
    (table, *_) = page_tables(sample_profile(rows=(row(warm=latency(1.0), flops=1e9, bytes_moved=1e6),)))
    assert set(column(table, "MFU, %")) == {"–"}
    assert table.note == (
        "Not known here (–): MFU and Bandwidth use, as no published peak is known for local-cpu in float32; "
        "GPU time, as no GPU took part; Latency, Size, Peak, not measured; left out: Cold, CPU under profiler."
    )


def test_cpu_time_of_operators_has_a_column_of_its_own() -> None:
    (table, *_) = page_tables(sample_profile(rows=(row(warm=latency(1.0), figures={"cpu_time_ms": 3.0}),)))
    assert (column(table, "CPU, ms"), column(table, "CPU under profiler, ms")) == (["1"], ["3"])


@pytest.mark.parametrize(
    ("signature", "short"),
    [
        ("(float32[4, 8], float32[4, 8], int64[4])", "(2 × float32[4, 8], int64[4])"),
        ("(int64[4], int64[4] strides [2])", "(int64[4], int64[4] strides [2])"),
        ("([int64[4] strides [2], int64[4] strides [2]], x=1)", "([2 × int64[4] strides [2]], x=1)"),
        ("()", "()"),
    ],
)
def test_inputs_that_are_alike_are_told_once(signature: str, short: str) -> None:
    assert short_inputs(signature) == short


def test_why_a_figure_is_not_measured_is_told_once_below(tables: dict[str, Table]) -> None:
    assert column(tables["components"], "Figures are")[3] == "aggregated [1]"
    assert tables["components"].remarks[0] == "[1] never called; summed from its children"


def test_traces_and_kernels_are_linked(tables: dict[str, Table]) -> None:
    (line,) = [line for group in tables["components"].groups for line in group.lines if line.cells[0].text == "a"]
    links = [(link.title, link.href) for cell in line.cells for link in cell.links]
    assert links == [("trace", "./traces/a.json.gz"), ("kernels", "#kernels")]


def test_a_file_that_looks_like_an_address_is_none() -> None:
    (table, *_) = page_tables(sample_profile(rows=(row(artefacts={"trace": "javascript:alert(1)"}),)))
    (link, *_) = [link for cell in table.groups[0].lines[0].cells for link in cell.links]
    assert link.href == "./javascript%3Aalert%281%29"


def test_kernels_calls_and_further_figures_have_tables(tables: dict[str, Table]) -> None:
    assert column(tables["kernels"], "Under") == ["a", "list.0", "outside all modules"]
    assert column(tables["kernels"], "Share")[0] == "73.2%"
    assert column(tables["calls"], "Inputs") == ["(float32[4, 8])"]
    assert column(tables["figures"], "GPU time, ms") == ["3.5"]


def test_tables_without_rows_are_left_out() -> None:
    assert [table.name for table in page_tables(sample_profile(kernels=(), calls=(), figures=()))] == ["components"]


def test_shares_are_read_as_percentages() -> None:
    rows = (row(in_situ=latency(1.0), figures={"gap_share": 0.25}),)
    (_, figures) = page_tables(
        sample_profile(rows=rows, kernels=(), calls=(), figures=(Figure(name="gap_share", title="Gaps"),))
    )
    assert column(figures, "Gaps") == ["25.0%"]


def test_every_phase_has_its_charts() -> None:
    profile = sample_profile()
    backward = row("9", path="", phase="backward", warm=latency(20.0), flops=2e10, bytes_moved=1e9)
    names = [chart.name for chart in profile_charts(sample_profile(rows=(*profile.rows, backward)))]
    assert names == ["icicle", "roofline", "kernels", "icicle-backward", "roofline-backward"]


def test_the_tiles_sum_the_model_up() -> None:
    tiles = {tile.label: tile.figure for tile in summary_tiles(sample_profile())}
    assert tiles == {
        "Latency, alone": "9 ms", "Latency, in situ": "10 ms", "Latency, cold": "12 ms", "FLOPs": "9 G",
        "MFU": "30.0%", "Parameters": "4 kB", "Peak memory": "1 MB", "Modules": "6",
    }  # fmt: skip


def test_of_a_model_with_cut_tables_both_sizes_are_told() -> None:
    cut = row(parameter_bytes=4000, figures={"true_parameter_bytes": 8e9})
    (tile,) = [tile for tile in summary_tiles(sample_profile(rows=(cut,))) if tile.label == "Parameters"]
    assert (tile.figure, tile.note) == ("8 GB", "4 kB profiled, float32")


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self.tags[tag] += 1


@pytest.fixture(scope="module")
def page() -> str:
    return render_profile(sample_profile(name=EVIL, notes=("fast paths were turned off", EVIL)))


def test_names_of_users_are_text(page: str) -> None:
    found = Elements()
    found.feed(page)
    assert (found.tags["img"], found.tags["script"]) == (0, 4)
    assert page.count("&lt;img src=x onerror=alert(1)&gt;") >= 5


def test_notes_and_costs_are_told(page: str) -> None:
    assert "<li>fast paths were turned off</li>" in page
    assert "<dt>capture</dt><dd>0.25 s</dd>" in page
    assert "<dt>hook overhead</dt><dd>1.0%</dd>" in page
    assert "<dt>forward</dt><dd>7.5 ms</dd>" in page
