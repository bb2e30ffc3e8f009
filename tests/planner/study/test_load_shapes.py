from pathlib import Path
from typing import Any

import pytest

from planner.study.load_shapes import parse_arrivals, parse_sizes
from planner.study.workload import ClassSection, WorkloadSection
from profiles.errors import InputError
from serving_sim.plan import Arrivals, Diurnal, Ids, Sizes, Spike


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("poisson", Arrivals()),
        ("azure-code", Arrivals(process="trace", source="azure-code")),
        ({"gamma_cv": 2.0}, Arrivals(process="gamma", cv=2.0)),
        ({"weibull_cv": 0.5}, Arrivals(process="weibull", cv=0.5)),
        ({"burst_factor": 4, "burst_share": 0.2}, Arrivals(process="mmpp", burst_factor=4.0, burst_share=0.2)),
    ],
)
def test_arrivals_have_short_forms(given: Any, meant: Arrivals) -> None:
    assert parse_arrivals(given, None) == meant


def test_listed_sizes_bring_their_mean() -> None:
    even = parse_sizes({"quantiles": [100, 300]}, None)
    assert even == Sizes(distribution="quantiles", values=(100, 300), mean=200.0)
    weighted = parse_sizes({"values": [10, 20], "weights": [3, 1]}, None)
    assert (weighted.distribution, weighted.mean) == ("empirical", 12.5)
    assert parse_sizes({"values": [10, 9000]}, None).maximum == 9000


@pytest.mark.parametrize(
    ("sizes", "complaint"),
    [
        ({"quantiles": [0.5]}, "sizes.quantiles: must be a list of whole numbers"),
        ({"quantiles": [0]}, "sizes.quantiles: must be whole and >= 1"),
        ({"quantiles": 7}, "sizes.quantiles: must be a list"),
        ({"values": [1], "weights": [-1]}, "sizes.weights: must be finite, >= 0"),
        ({"values": [1], "weights": ["x"]}, "sizes.weights: must be a finite number"),
        ({"values": [1], "max": 3}, "sizes.max: unknown key"),
    ],
)
def test_bad_lists_of_sizes_name_the_studys_key(sizes: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint.replace(".", r"\.")):
        parse_sizes(sizes, None)


@pytest.mark.parametrize(
    ("arrivals", "complaint"),
    [
        ({"weibull_cv": 99}, "arrivals.weibull_cv: must be in"),
        ({"burst_factor": 0.5}, "arrivals.burst_factor: must be finite and >= 1"),
        ({"burst_factor": 5, "cv": 1}, "arrivals.cv: unknown key"),
    ],
)
def test_bad_arrivals_name_the_studys_key(arrivals: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint.replace(".", r"\.")):
        parse_arrivals(arrivals, None)


def test_profiles_classes_and_ids_reach_the_plan(tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("1\n2\n")
    section = WorkloadSection(
        arrivals={"weibull_cv": 2.0},
        diurnal=Diurnal(amplitude=0.5, period_s=60),
        spikes=(Spike(start_s=1, duration_s=1, factor=2),),
        classes=(
            ClassSection(name="a", share=0.5, sla_ms=5, sizes={"fixed": 8}),
            ClassSection(name="b", share=0.5, sla_ms=9),
        ),
        id_skew="ids.txt",
    )
    plan = section.to_plan(tmp_path)
    assert plan.arrivals.diurnal == Diurnal(amplitude=0.5, period_s=60)
    assert (plan.arrivals.process, len(plan.arrivals.spikes)) == ("weibull", 1)
    assert [one.sizes and one.sizes.mean for one in plan.classes] == [8.0, None]
    assert plan.ids == Ids(kind="log", source=str(tmp_path / "ids.txt"))
    assert WorkloadSection(id_skew="uniform").to_plan().ids.kind == "uniform"
    assert WorkloadSection(id_skew={"zipf": 1.2}).to_plan().ids == Ids(exponent=1.2)
