import pytest

from planner.report.specs import capacity_spec, memory_spec, scatter_spec


def test_the_scatter_spans_both_axes_alike() -> None:
    points = ({"kind": "linear", "measured_ms": 1.0, "predicted_ms": 2.0},)
    spec = scatter_spec(points, ["linear"])
    domains = {tuple(layer["encoding"][axis]["scale"]["domain"]) for layer in spec["layer"] for axis in ("x", "y")}
    assert domains == {(0.8, 2.5)}


@pytest.mark.parametrize("measured_ms", [0.5, 1e-4])
def test_the_scatter_has_ticks_within_its_ends(measured_ms: float) -> None:
    spec = scatter_spec(({"kind": "linear", "measured_ms": measured_ms, "predicted_ms": 2.0},), ["linear"])
    across = spec["layer"][0]["encoding"]["x"]
    low, high = across["scale"]["domain"]
    ticks = across["axis"]["values"]
    assert ticks
    assert all(low <= tick <= high for tick in ticks)


def test_memory_over_the_budget_widens_the_axis() -> None:
    row = {"device": "cpu", "path": "a", "parameters": "2 MB", "budget": "1 MB", "share": 2.0, "order": 0}
    spec = memory_spec((row,))
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"][1] > 2


def test_memory_that_hardly_fills_the_budget_is_drawn_large() -> None:
    row = {"device": "cpu", "path": "a", "parameters": "2 kB", "budget": "1 MB", "share": 0.002, "order": 0}
    spec = memory_spec((row,))
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"][1] < 0.01
    assert len(spec["layer"]) == 1


def test_capacity_stands_beside_the_load() -> None:
    row = {"title": "a", "max_qps": 100.0, "ci_low": 90.0, "ci_high": 110.0, "provenance": "predicted"}
    spec = capacity_spec((row,), 50.0)
    assert [{"qps": 50.0}] in spec["datasets"].values()
