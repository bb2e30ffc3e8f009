from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from torch import nn

from profiles.analyses.opportunity import Opportunity, OpportunityPart, size_opportunity
from profiles.errors import InputError, MeasurementError
from profiles.measure import thread_count
from profiles.providers import InputBatch, Target
from profiles.timing import TimingOptions
from profiles.walk.subject import Subject
from tests.profiles.rows import latency


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small products on several threads wait for one another where cores are shared."""
    with thread_count(1):
        yield


QUICK = TimingOptions(seconds_per_visit=1e-4, min_samples=2, max_samples=3)


class Wasteful(nn.Linear):
    """Computes its output again and again."""

    def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
        for _ in range(12):
            super().forward(x_BF)
        return super().forward(x_BF)


def target() -> Target:
    model = nn.Sequential(nn.Linear(32, 32), Wasteful(32, 32), nn.Sequential(Wasteful(32, 32)))
    return Target(name="", model=model, batches=(InputBatch(args=(torch.ones(16, 32),)),))


def without_waste(subject: Subject) -> Subject:
    lean = nn.Linear(32, 32)
    lean.load_state_dict(subject.module.state_dict())
    return replace(subject, module=lean)


def test_the_gain_of_the_model_is_the_gain_of_its_parts_scaled_to_the_model() -> None:
    parts = [
        OpportunityPart(path=path, before=latency(before), after=latency(after), in_situ_scale=scale)
        for path, before, after, scale in (("a", 4.0, 2.0, 1.5), ("b", 2.0, 3.0, 1.0))
    ]
    found = Opportunity(parts=tuple(parts), model_before=latency(10.0), model_after=latency(8.0), backward=False)
    # A p25 of 0.9 of the median.
    assert [part.predicted_gain_ms for part in parts] == pytest.approx([0.9 * 3.0, 0.9 * -1.0])
    assert (found.predicted_gain_ms, found.measured_gain_ms) == pytest.approx((1.8, 1.8))
    assert found.predicted_speedup == pytest.approx(found.measured_speedup) == pytest.approx(1.25)
    assert replace(found, model_before=latency(1.0)).predicted_speedup is None


@pytest.mark.parametrize("backward", [False, True])
def test_changes_are_sized_alone_and_in_the_model_which_stays_as_it_was(*, backward: bool) -> None:
    given = target()
    found = size_opportunity(given, ["1", "2.0"], change=without_waste, backward=backward, timing=QUICK)
    assert [part.path for part in found.parts] == ["1", "2.0"]
    assert found.predicted_gain_ms == sum(part.predicted_gain_ms for part in found.parts)
    assert all(part.in_situ_scale > 0 for part in found.parts)
    assert found.backward is backward
    assert isinstance(given.model.get_submodule("1"), Wasteful)


def test_paths_and_changes_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="at least one path"):
        size_opportunity(target(), [])
    with pytest.raises(InputError, match="is inside '2'"):
        size_opportunity(target(), ["2", "2.0"], change=without_waste)
    with pytest.raises(MeasurementError, match="left every module as it was"):
        size_opportunity(target(), ["0"], change=lambda subject: subject)


@pytest.mark.slow
@pytest.mark.parametrize("backward", [False, True])
def test_by_default_modules_are_compiled(*, backward: bool) -> None:
    found = size_opportunity(target(), ["1"], backward=backward, timing=QUICK)
    assert found.model_after.n > 0
    whole = size_opportunity(target(), [""], backward=backward, timing=QUICK)
    assert whole.parts[0].path == ""
