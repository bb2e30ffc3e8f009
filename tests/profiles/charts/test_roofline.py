import pytest

from profiles.charts.roofline import roof_frame, roofline_chart, roofline_frame, roofline_note
from profiles.records import ComponentProfile
from tests.profiles.rows import latency, row

ROWS = [
    row(path="", device="h100", in_situ=latency(10.0), warm=latency(9.0), flops=3e12, bytes_moved=3e9),
    row(path="a", device="h100", in_situ=latency(2.0), warm=latency(1.0), flops=1e10, bytes_moved=1e9),
    row(path="b", device="h100", in_situ=latency(5.0), warm=latency(4.0), flops=8e10, bytes_moved=1e9),
    row(path="table", class_name="EmbeddingBag", device="h100", warm=latency(1.0), flops=0.0, bytes_moved=1e9),
    row(path="b.(self)", kind="self", device="h100", in_situ=latency(1.0), flops=1e9),
    row(path="never", device="h100", provenance="skipped"),
]  # fmt: skip


def test_points_are_innermost_modules_that_compute_the_slowest_first() -> None:
    frame = roofline_frame(ROWS)
    assert frame["path"].to_list() == ["b", "a"]
    assert frame["intensity"].to_list() == pytest.approx([80.0, 10.0])
    assert frame["flops_per_s"].to_list() == pytest.approx([2e13, 1e13])
    assert frame["share"].to_list() == pytest.approx([0.5, 0.2])


def test_the_roof_is_the_lower_of_peak_and_bandwidth() -> None:
    frame = roofline_frame(ROWS)
    assert frame["roof_share"].to_list() == pytest.approx([2e13 / 67e12, 1e13 / (10 * 3.35e12)])
    assert frame["roof_text"].to_list()[1] == "29.9% of what the device allows here"


def test_a_module_whose_children_never_ran_is_innermost() -> None:
    rows = [*ROWS, row(path="a.unused", device="h100", provenance="skipped")]
    assert roofline_frame(rows)["path"].to_list() == ["b", "a"]


def test_roofs_bend_at_the_ridge() -> None:
    roofs = roof_frame(roofline_frame(ROWS))
    assert roofs["roof"].unique().to_list() == ["h100: float32 67 TFLOP/s, memory 3.35 TB/s"]
    assert roofs["intensity"].to_list() == pytest.approx([2.5, 20.0, 320.0])
    assert roofs["flops_per_s"].to_list() == pytest.approx([2.5 * 3.35e12, 67e12, 67e12])


def local(rows: list[ComponentProfile]) -> list[ComponentProfile]:
    return [ComponentProfile.from_row({**row.to_row(), "device": "local-cpu"}) for row in rows]


def test_without_published_peaks_the_best_of_the_profile_is_a_dashed_roof() -> None:
    rows = local(ROWS)
    roofs = roof_frame(roofline_frame(rows), rows)
    assert roofs["source"].unique().to_list() == ["achieved here"]
    assert roofs["roof"].to_list()[0].endswith("memory 1 TB/s, achieved here")
    assert roofs["flops_per_s"].max() == pytest.approx(3e12 / 9e-3)
    assert roofline_frame(rows)["roof_text"].unique().to_list() == ["not known"]
    dash = roofline_chart(rows).to_dict()["layer"][0]["encoding"]["strokeDash"]
    assert dash["condition"][0]["value"] == [6, 4]
    assert roofline_note(rows) == (
        "No peaks are published for local-cpu in float32: the dashed roof is the best that modules of the profile "
        "achieved, by arithmetic and by traffic, a lower bound of what the device can do. "
        "1 modules move bytes but count no FLOPs; their bandwidth is in the table."
    )


def test_without_rows_nothing_was_achieved() -> None:
    assert roof_frame(roofline_frame(local(ROWS))).is_empty()


@pytest.mark.parametrize("rows", [ROWS, local(ROWS)])
def test_roofs_span_the_chart(rows: list[ComponentProfile]) -> None:
    ends = roof_frame(roofline_frame(rows), rows)["intensity"]
    spec = roofline_chart(rows).to_dict()
    points = next(layer for layer in spec["layer"] if layer["mark"]["type"] == "circle")
    assert points["encoding"]["x"]["scale"]["domain"] == [ends.min(), ends.max()]


def test_a_single_class_needs_no_legend() -> None:
    spec = roofline_chart(ROWS).to_dict()
    points = next(layer for layer in spec["layer"] if layer["mark"]["type"] == "circle")
    assert points["encoding"]["color"]["legend"] is None


def test_common_classes_have_colours_of_their_own() -> None:
    rows = [
        row(path=f"m{i}", class_name=f"C{i // 2}", warm=latency(1.0), flops=1e9, bytes_moved=1e6) for i in range(15)
    ]
    assert roofline_frame(rows)["group"].to_list()[-1] == "other classes"
    spec = roofline_chart(rows).to_dict()
    assert spec["layer"][2]["encoding"]["color"]["scale"]["domain"][-1] == "other classes"


def test_names_that_would_lie_on_one_another_are_left_out() -> None:
    flops = {"a": 1e9, "b": 1.001e9, "c": 1e10}
    rows = [row(path=path, warm=latency(1.0), flops=count, bytes_moved=1e6) for path, count in flops.items()]
    names = roofline_chart(rows).to_dict()["layer"][3]["data"]["name"]
    assert [point["path"] for point in roofline_chart(rows).to_dict()["datasets"][names]] == ["a", "c"]


def test_no_points_give_an_empty_frame() -> None:
    assert roofline_frame([row()]).is_empty()
    assert roof_frame(roofline_frame([row()])).is_empty()
