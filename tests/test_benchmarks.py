"""The benchmarks' plain parts: statistics, pages, and that every rival does the same work. Nothing here is timed."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from planner.cost_model.model import fit_device_model
from planner.cost_model.validation import validate
from planner.study import DataSection, ModelSection, SpaceSection, Study, SweepSection, load_study
from profiles.agreement import VISITS_APART
from profiles.errors import MeasurementError
from representations.components import work_of
from tests.benchmarks import (
    BENCHMARKS,
    cost_model,
    dhe_encoder,
    fused_lookup,
    serving_loops,
    simulator_speed,
)
from tests.benchmarks.__main__ import run_all
from tests.benchmarks.benchmark import Benchmark, main
from tests.benchmarks.intervals import auc_interval, mean_interval
from tests.benchmarks.markdown import significant, table, with_quartiles
from tests.benchmarks.rivals.latency_models import held_out_errors
from tests.benchmarks.serving_scenario import POLICIES, draw, six_path_plan
from tests.benchmarks.settled_rows import settled_errors, settled_text
from tests.benchmarks.timing import Alternative, interleave, rates, ratios, spread_of
from tests.planner.cost_model.synthetic import levelled_ms, linears, profiles_of, random_sizes

ROOT = Path(__file__).parent.parent
VALIDATE_KEYS = {"noise_floor", "components", "composed", "interval_coverage_90"}


def ticking() -> Callable[[], float]:
    ticks: Iterator[int] = iter(range(1000))
    return lambda: float(next(ticks))


def test_alternatives_take_turns_and_the_first_one_changes() -> None:
    order: list[str] = []
    both = {name: Alternative(call=partial(order.append, name)) for name in ("a", "b")}
    interleave(both, rounds=2, clock=ticking())
    assert "".join(order) == "ab" + "ab" + "ba"


def test_seconds_are_per_unit_of_work() -> None:
    timed = {"a": Alternative(call=lambda: None, calls=5, units=2)}
    assert interleave(timed, rounds=3, clock=ticking()) == {"a": [0.1] * 3}


def test_a_spread_is_median_and_quartiles() -> None:
    spread = spread_of([4.0, 1.0, 2.0, 3.0, 5.0])
    assert (spread.p25, spread.median, spread.p75, spread.rounds) == (2.0, 3.0, 4.0, 5)
    assert spread_of([7.0]).to_object() == {"median": 7.0, "p25": 7.0, "p75": 7.0, "rounds": 1}


def test_ratios_are_taken_within_rounds() -> None:
    assert ratios([2.0, 20.0, 200.0], [1.0, 10.0, 100.0]).to_object()["p75"] == 2.0
    assert rates([0.5, 0.25]).median == 3.0


def test_a_mean_s_interval_widens_as_seeds_get_fewer() -> None:
    low, high = mean_interval([1.0, 2.0, 3.0])
    assert high - 2 == pytest.approx(4.303 / 3**0.5, rel=1e-4)
    assert low + high == pytest.approx(4.0)
    few, many = mean_interval([0.0, 1.0]), mean_interval([0.0, 1.0] * 20)
    assert few[1] - few[0] > 10 * (many[1] - many[0])


def test_an_auc_s_interval_holds_most_redrawn_aucs() -> None:
    rng = np.random.default_rng(0)

    def drawn() -> float:
        return float(np.mean(rng.normal(1.0, 1.0, (50, 1)) > rng.normal(0.0, 1.0, 150)))

    low, high = auc_interval(0.7602, positives=50, negatives=150)
    inside = np.mean([low <= drawn() <= high for _ in range(100)])
    assert 0.85 <= inside <= 1


def test_tables_have_their_numbers_on_the_right() -> None:
    assert table(("what", "ms"), [("a", "1")]) == "| what | ms |\n| --- | ---: |\n| a | 1 |"


@pytest.mark.parametrize(
    ("value", "text"), [(12345.6, "12,300"), (123.4, "123"), (9.876, "9.88"), (0.01234, "0.0123"), (0.0, "0")]
)
def test_numbers_keep_three_digits_and_no_exponent(value: float, text: str) -> None:
    assert significant(value) == text


def test_a_spread_reads_as_median_and_quartiles() -> None:
    assert with_quartiles({"median": 2e6, "p25": 1e6, "p75": 3e6}, 1e-6) == "2.00 (1.00 to 3.00)"


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_bears_its_module_s_name(name: str) -> None:
    benchmark: Benchmark = import_module(f"tests.benchmarks.{name}").BENCHMARK
    assert benchmark.name == name
    assert (ROOT / "docs" / "benchmarks" / benchmark.file_name).is_file()


def test_the_json_output_is_one_object_and_the_page_says_where_it_ran(capsys: pytest.CaptureFixture[str]) -> None:
    benchmark = Benchmark(
        name="small", title="Small", measure=lambda quick: {"few": quick}, describe=lambda report: [f"{report['few']}!"]
    )
    main(benchmark, ["--json", "--quick"])
    report = json.loads(capsys.readouterr().out)
    assert (report["few"], report["benchmark"]) == (True, "small")
    main(benchmark, [])
    page = capsys.readouterr().out
    assert page.startswith("# Small\n\n- command: `python -m tests.benchmarks.small`")
    assert report["machine"]["processor"] in page
    assert page.endswith("False!\n")


def test_a_benchmark_that_fails_is_named_and_writes_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_all(["none_such"], tmp_path, quick=True) == ["none_such"]
    assert list(tmp_path.iterdir()) == []
    assert "none_such" in capfd.readouterr().err


@pytest.mark.parametrize("policy", POLICIES)
def test_every_serving_loop_gives_the_simulator_s_latencies(policy: str) -> None:
    drawn = draw(six_path_plan(policy, 600))
    assert serving_loops.largest_difference(drawn, 600) < 1e-9


def test_a_loop_of_another_scenario_is_found_out() -> None:
    drawn = draw(six_path_plan("mp-rec", 300))
    other = replace(drawn, gap_ms=drawn.gap_ms / 2)
    with pytest.raises(MeasurementError, match=r"mp-rec: a rival's latencies differ"):
        serving_loops.largest_difference(other, 300)


def test_the_simulator_s_alternatives_run_and_are_described() -> None:
    timed = simulator_speed.alternatives(draw(six_path_plan("mp-rec", 500)), 100)
    seconds = interleave(timed, rounds=1, clock=ticking())
    figures = simulator_speed.figures_of(seconds)
    wanted = {"predrawn_qps", "full_qps", "ratio_over_simpy", "ratio_over_heap_loop", "ratio_over_bare_loop"}
    assert wanted <= figures.keys()
    once = spread_of([1.0]).to_object()
    report = {"policies": {key: {**figures, "whatifs_s": once, "commands_s": once} for key in POLICIES}}
    assert "SimPy" in "\n".join(simulator_speed.BENCHMARK.describe(report))


def test_every_encoder_gives_the_same_encodings_and_the_keys_are_there() -> None:
    seconds = interleave(dhe_encoder.alternatives(5, compiled=False), rounds=2, clock=ticking())
    figures = dhe_encoder.figures_of(seconds)
    assert {"speedup_over_torch", "share_of_first_gemm", "stack_over_gemms"} <= figures.keys()
    assert "whole DHE" in "\n".join(dhe_encoder.BENCHMARK.describe(figures))


def test_encodings_that_differ_are_refused() -> None:
    with pytest.raises(MeasurementError, match="wrong: differs by 1"):
        dhe_encoder.check_equal({"right": torch.zeros(2), "wrong": torch.ones(2)})


def test_a_simpler_model_is_as_good_where_the_truth_is_simple() -> None:
    model = fit_device_model(profiles_of(linears(random_sizes(8, seed=0), (8, 512)), levelled_ms), work_of)
    rivals = held_out_errors(model, seed=0)
    assert [row["model"] for row in rivals] == ["roofline", "boosting"]
    assert rivals[0]["mape"] < 0.02 < rivals[1]["mape"]
    report = {**validate(model, ()).to_object(), "rivals": rivals}
    page = "\n".join(cost_model.BENCHMARK.describe({
        **report, "components_measured": 16, "whole_model_predictions_per_s": 1.0
    }))  # fmt: skip
    assert "Noise floor" in page
    assert "| linear | 16 |" in page


@pytest.fixture
def small_study() -> Study:
    study = load_study(ROOT / "docs" / "examples" / "quickstart.toml")
    return replace(
        study,
        data=DataSection(source="flights", rows=3000),
        model=ModelSection(features=("carrier", "dest"), bottom_mlp=(8, 4), top_mlp=(8, 1)),
        search=replace(study.search, space=SpaceSection(representation=("table",), dim=(4, 8))),
        sweep=SweepSection(batches=(1, 64), components=20, visits=3, milliseconds_per_visit=0.5),
    )


@pytest.mark.slow
def test_rows_are_told_apart_by_whether_their_visits_agree() -> None:
    rows = profiles_of(linears(random_sizes(40, seed=3)), levelled_ms)
    model = fit_device_model(rows, work_of)
    figures = [replace(row, figures={VISITS_APART: 0.5}) if place % 4 == 0 else row for place, row in enumerate(rows)]
    found = settled_errors(model, figures, 0.02)
    assert found["settled"]["rows"] + found["others"]["rows"] == len(model.families["linear"].held_out.components)
    assert found["settled"]["rows"] > found["others"]["rows"] > 0
    assert settled_text(settled_errors(model, rows, 0.02)).endswith("The others: none.")


@pytest.mark.slow
def test_the_cost_model_s_figures_hold_the_keys_of_validate(small_study: Study) -> None:
    figures: dict[str, Any] = cost_model.figures_of(small_study, predictions=1, per_kind=6, logged=3)
    further = {"whole_model_predictions_per_s", "extrapolation", "skewed_ids_mape", "points_for_10_percent"}
    assert VALIDATE_KEYS | further <= figures.keys()
    assert (
        "| points for 10 % error" in "\n".join(cost_model.BENCHMARK.describe(figures))
        or not figures["points_for_10_percent"]
    )
    assert {row["kind"] for row in figures["rivals"]} == {row["kind"] for row in figures["components"]}


def test_all_look_ups_of_many_tables_are_the_same_and_another_is_found_out() -> None:
    outputs = {name: look_up() for name, look_up in fused_lookup.lookups(fused_lookup.case_of(2)).items()}
    fused_lookup.check_equal(outputs)
    with pytest.raises(MeasurementError, match="fbgemm: differs from single tables"):
        fused_lookup.check_equal(outputs | {"fbgemm": outputs["fbgemm"] + 1})


def test_all_trainings_of_many_tables_end_alike_and_repeat() -> None:
    steps, rows = fused_lookup.trainings(fused_lookup.case_of(2))
    for step in steps.values():
        step()
    fused_lookup.check_equal({name: torch.cat(read()) for name, read in rows.items()})
    fused_lookup.check_repeatable(2)
