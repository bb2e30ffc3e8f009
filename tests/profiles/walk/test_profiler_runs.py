import pytest
import torch
from torch import nn

from profiles.walk.profiler_runs import ProfilerRuns
from profiles.walk.subject import Subject
from tests.profiles.plug_ins import Counting

MODULE = nn.Linear(2, 2)
SUBJECT = Subject(path="a", module=MODULE, original=MODULE, calls=())


def runs_of(*profilers: Counting, subject: Subject = SUBJECT) -> ProfilerRuns:
    return ProfilerRuns([(one, one.open(None)) for one in profilers], subject)


def test_each_profiler_makes_the_visits_it_asks_for() -> None:
    runs = runs_of(Counting(visits=1), Counting(visits=3))
    for place in range(4):
        runs.visit(place)
    assert [finding.figures.get("visits_made") for finding in runs.findings()] == [1.0, 3.0, None]


@pytest.mark.parametrize("step", ["start", "visit", "finding"])
def test_what_raises_becomes_a_note_and_stops_nothing_else(step: str) -> None:
    bad, good = Counting(name="bad", visits=3, raises_at=step), Counting(visits=3)
    runs = runs_of(bad, good)
    for place in range(3):
        runs.visit(place)
    found = runs.findings()
    assert [finding.figures["visits_made"] for finding in found[:-1]] == [3.0]
    assert found[-1].notes == (f"bad: RuntimeError: no {step}",)
    assert bad.log.count(f"{step} a") == 1


def test_nothing_is_found_where_a_profiler_has_nothing_to_measure() -> None:
    subject = Subject(path="", module=nn.ReLU(), original=nn.ReLU(), calls=())
    assert len(runs_of(Counting(), subject=subject).findings()) == 1


def test_profilers_run_in_the_contexts() -> None:
    seen = []

    class Looking(Counting):
        def tell(self, step: str, subject: Subject) -> None:
            seen.append((step, subject.path, torch.is_grad_enabled()))

    looking = Looking()
    ProfilerRuns([(looking, looking)], SUBJECT, [torch.no_grad]).visit(0)
    assert seen == [("start", "a", False), ("visit", "a", False)]
