from dataclasses import replace
from pathlib import Path

import pytest

from profiles.errors import InputError
from serving_sim.charts_whatif import save_whatif_page, whatif_chart
from serving_sim.grid import simulate_grid
from serving_sim.plan import Cache, Plan
from serving_sim.testing import small_plan
from serving_sim.whatif import Axis, axes_from_file, axis_from_text, explore, whatif_frame

AXES = (
    Axis(key="qps", values=(200, 800)),
    Axis(key="sla_ms", values=(5.0, 10.0)),
    Axis(key="add", values=("", "gpu")),
    Axis(key="devices.gpu.price_per_hour", values=(1.0, 3.0)),
)


def plan() -> Plan:
    made = small_plan(queries=1_000)
    return replace(made, devices=tuple(replace(device, price_per_hour=1.0) for device in made.devices))


def test_every_combination_is_simulated_beside_the_plan_as_it_is() -> None:
    base, found = explore(plan(), AXES)
    assert base == simulate_grid([plan()])[0]
    assert [one.values[:2] for one in found[::4]] == [(200, 5.0), (200, 10.0), (800, 5.0), (800, 10.0)]
    assert {(one.cell.qps, one.cell.sla_ms) for one in found} == {(200, 5), (200, 10), (800, 5), (800, 10)}
    assert [one.cell.cost_per_hour for one in found[:4]] == [2.0, 4.0, 3.0, 7.0]


def test_a_failed_device_has_no_paths() -> None:
    _, (whole, failed) = explore(plan(), [Axis(key="fail", values=("", "gpu"))])
    assert "gpu" in whole.cell.device_utilisation
    assert set(failed.cell.device_utilisation) == {"cpu"}
    assert all(name.endswith("cpu") for name in failed.cell.path_share)


def test_a_cache_grows_by_a_factor() -> None:
    cached = replace(plan(), caches=(Cache(name="c", kind="encoder", capacity_bytes=1000, entry_bytes=10),))
    _, found = explore(cached, [Axis(key="cache", values=(0.5, 1.0))])
    assert len(found) == 2
    for factor in (-1, float("nan"), float("inf")):
        with pytest.raises(InputError, match=f"vary cache={factor}: must be finite and >= 0"):
            explore(cached, [Axis(key="cache", values=(factor,))])


@pytest.mark.parametrize(
    ("axes", "complaint"),
    [
        ([Axis(key="fail", values=("tpu",))], "tpu"),
        ([Axis(key="cache", values=(0.5,))], r"^vary cache=0\.5: the plan has no caches"),
        ([Axis(key="workload.nothing", values=(1,))], r"^vary workload\.nothing=1: unknown name 'nothing'; known: arr"),
        ([Axis(key="devices.gpu.servers", values=(0,))], r"^vary devices\.gpu\.servers=0: devices\.1\.servers: must"),
        ([Axis(key="qsp", values=(1,))], r"vary qsp: unknown name 'qsp' \(did you mean 'qps'\?\); known: add, cache"),
        ([Axis(key="qps", values=("many",))], "^vary qps=many: must be a number"),
        ([Axis(key="qps", values=(1,)), Axis(key="qps", values=(2,))], "come more than once"),
        ([Axis(key="qps", values=tuple(range(1, 500))), Axis(key="sla_ms", values=tuple(range(1, 500)))], "at most"),
    ],
)
def test_axes_that_make_no_sense_are_refused(axes: list[Axis], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        explore(plan(), axes)


def test_no_path_left_is_said() -> None:
    alone = replace(plan(), paths=plan().paths[:1])
    with pytest.raises(InputError, match="no path is left without cpu"):
        explore(alone, [Axis(key="fail", values=("cpu",))])


def test_axes_are_read_from_text_and_from_files(tmp_path: Path) -> None:
    assert axis_from_text("qps=1,2.5") == Axis(key="qps", values=(1, 2.5))
    assert axis_from_text("add=,gpu") == Axis(key="add", values=("", "gpu"))
    file = tmp_path / "grid.toml"
    file.write_text('[vary]\nqps = [1, 2.5]\n"devices.gpu.servers" = [1, 2]\n', encoding="utf-8")
    assert [axis.key for axis in axes_from_file(file)] == ["qps", "devices.gpu.servers"]
    for text in ("vary = 1", "[vary]\nqps = 3", "[vary", "[other]\nqps = [1]"):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=r"grid\.toml"):
            axes_from_file(file)
    with pytest.raises(InputError, match=r"elsewhere\.toml: no such file"):
        axes_from_file(tmp_path / "elsewhere.toml")
    with pytest.raises(InputError, match="must be KEY"):
        axis_from_text("qps")
    with pytest.raises(InputError, match="must differ"):
        axis_from_text("qps=1,1")
    with pytest.raises(InputError, match="at least one"):
        Axis(key="qps", values=())


def test_the_frame_says_the_difference_to_the_plan_as_it_is() -> None:
    base, found = explore(plan(), AXES)
    frame = whatif_frame(AXES, base, found)
    assert len(frame) == 16
    first = frame.row(0, named=True)
    assert (first["qps"], first["sla_ms"], first["add"]) == (200, 5.0, "")
    assert first["p99_over_sla"] == pytest.approx(first["p99_ms"] / 5.0)
    change = found[0].cell.correct_predictions_in_sla_per_s - base.correct_predictions_in_sla_per_s
    assert first["correct_predictions_in_sla_per_s_change"] == pytest.approx(change)


def test_the_chart_has_a_panel_per_figure_and_a_dropdown_per_further_axis(tmp_path: Path) -> None:
    base, found = explore(plan(), AXES)
    frame, keys = whatif_frame(AXES, base, found), [axis.key for axis in AXES]
    spec = whatif_chart(frame, keys).to_dict()
    panels = [panel for row in spec["vconcat"] for panel in row["hconcat"]]
    assert len(panels) == 5
    assert [one["bind"]["name"] for one in spec["params"] if "bind" in one] == [
        "add: ",
        "devices.gpu.price_per_hour: ",
    ]
    axes = [panels[0]["layer"][0]["encoding"][channel]["axis"]["labelExpr"] for channel in ("x", "y")]
    assert axes == ["datum.label === '' ? 'as it is' : datum.label"] * 2
    save_whatif_page(frame, keys, tmp_path / "page.html")
    assert "vega" in (tmp_path / "page.html").read_text(encoding="utf-8")
    with pytest.raises(InputError, match="must not be empty"):
        whatif_chart(frame, [])


def test_one_axis_without_prices_has_a_row_of_cells() -> None:
    unpriced = replace(plan(), devices=tuple(replace(device, price_per_hour=None) for device in plan().devices))
    base, found = explore(unpriced, AXES[:1])
    spec = whatif_chart(whatif_frame(AXES[:1], base, found), ["qps"]).to_dict()
    assert len([panel for row in spec["vconcat"] for panel in row["hconcat"]]) == 4
