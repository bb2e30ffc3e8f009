import copy
from collections.abc import Iterator

import pytest
import torch
from torch import nn

from profiles.analyses.substitution import Substitution, SubstitutionRow, judge_substitution
from profiles.errors import InputError
from profiles.measure import thread_count
from profiles.providers import InputBatch, Target
from profiles.timing import TimingOptions
from tests.profiles.analyses.test_opportunity import Wasteful
from tests.profiles.rows import latency
from tests.profiles.small_models import Net, net_inputs


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small products on several threads wait for one another where cores are shared."""
    with thread_count(1):
        yield


QUICK = TimingOptions(seconds_per_visit=1e-4, min_samples=1, max_samples=2)


def net_target() -> Target:
    args, kwargs = net_inputs()
    return Target(name="net", model=Net().eval(), batches=(InputBatch(args=args, kwargs=kwargs),))


def judged(alone: float, model: float, model_compiled: float | None = None) -> Substitution:
    rows = [
        SubstitutionRow(scope="alone", mode="eager", path="a", before=latency(1.0), after=latency(alone)),
        SubstitutionRow(scope="model", mode="eager", path="", before=latency(1.0), after=latency(model)),
    ]
    if model_compiled is not None:
        rows.append(
            SubstitutionRow(scope="model", mode="compiled", path="", before=latency(1.0), after=latency(model_compiled))
        )
    return Substitution(path="a", rows=tuple(rows), numeric=())


def test_slower_alone_and_faster_in_the_compiled_model() -> None:
    assert judged(2.0, 1.5, 0.9).is_locally_slow_globally_fast
    assert not judged(2.0, 0.9, 1.1).is_locally_slow_globally_fast
    assert judged(2.0, 0.9).is_locally_slow_globally_fast
    assert not judged(0.5, 0.9).is_locally_slow_globally_fast
    assert judged(2.0, 1.5).row("alone", "eager").change == 1.0
    with pytest.raises(InputError, match="parent eager was not measured"):
        judged(2.0, 1.5).row("parent", "eager")


def test_alone_in_its_parent_and_in_the_model() -> None:
    target = net_target()
    linear = target.model.get_submodule("blocks.0.linear")
    wasteful = Wasteful(8, 8)
    wasteful.load_state_dict(linear.state_dict())
    found = judge_substitution(target, "blocks.0.linear", wasteful, compile=False, timing=QUICK)
    assert [(row.scope, row.mode, row.path) for row in found.rows] == [
        ("alone", "eager", "blocks.0.linear"), ("parent", "eager", "blocks.0"), ("model", "eager", ""),
    ]  # fmt: skip
    assert found.is_equal
    assert target.model.get_submodule("blocks.0.linear") is linear


def test_a_list_around_it_is_not_its_parent() -> None:
    target = net_target()
    found = judge_substitution(
        target, "blocks.0", copy.deepcopy(target.model.get_submodule("blocks.0")), compile=False, timing=QUICK
    )
    assert [row.scope for row in found.rows] == ["alone", "model"]


def test_a_replacement_that_computes_something_else_is_told() -> None:
    found = judge_substitution(net_target(), "shared", nn.Linear(8, 8), compile=False, backward=True, timing=QUICK)
    assert not found.is_equal


def test_the_model_is_no_submodule() -> None:
    with pytest.raises(InputError, match="got that of the model"):
        judge_substitution(net_target(), "", nn.Identity())


@pytest.mark.slow
def test_compiled_versions_stand_beside_the_eager_ones() -> None:
    model = nn.Sequential(nn.Sequential(nn.Linear(64, 64), nn.GELU()), nn.Linear(64, 64))
    target = Target(name="", model=model, batches=(InputBatch(args=(torch.ones(8, 64),)),))
    found = judge_substitution(target, "0.1", nn.GELU(approximate="tanh"), timing=QUICK)
    assert [(row.scope, row.mode) for row in found.rows] == [
        (scope, mode) for mode in ("eager", "compiled") for scope in ("alone", "parent", "model")
    ]
