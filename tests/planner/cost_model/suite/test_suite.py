from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from planner.cost_model.suite import SuiteProvider, run_suite, suite_cases
from profiles.component import Component, make_component
from profiles.errors import InputError
from profiles.providers import ComponentProvider
from profiles.store import ProfileStore
from profiles.sweep_options import SweepOptions
from profiles.testing import ComponentProviderContract

QUICK = suite_cases(is_accelerator=False, memory_bytes=1e9, is_quick=True)
SMALL = [case.component for case in QUICK if case.component.kind != "embedding_group"]
OPTIONS = SweepOptions(seconds_per_visit=0.001, min_samples=2, max_samples=4, least_gap_s=0.0)


class TestSuiteProvider(ComponentProviderContract):
    def provider(self) -> ComponentProvider:
        return SuiteProvider()

    def components(self) -> Sequence[Component]:
        return [*SMALL, make_component("id_split", 4)]


@pytest.mark.parametrize("component", SMALL, ids=lambda one: f"{one.kind} {one.phase} {one.batch}")
def test_flops_are_those_that_torch_counts(component: Component) -> None:
    built = SuiteProvider().build(component, 0)
    with torch.no_grad():
        built.module(*built.args)
        with FlopCounterMode(display=False) as counter:
            built.module(*built.args)
    assert counter.get_total_flops() == SuiteProvider().work(component).flops


def test_the_suite_gives_rates_and_goes_on_from_its_store(tmp_path: Path) -> None:
    store = ProfileStore(tmp_path)
    rows = run_suite(QUICK, store, options=OPTIONS)
    assert len(rows) == len(QUICK) == 9
    assert not any(row.skipped for row in rows)
    gemm, tables, copy = rows[0], rows[-3], rows[-1]
    assert copy.name.endswith("batch 16, in two tensors per table")
    assert copy.bytes_per_s is not None
    assert gemm.median_ms is not None
    assert gemm.flops_per_s == pytest.approx(2 * 64**3 / gemm.median_ms * 1e3)
    assert (gemm.is_cold, tables.is_cold) == (False, True)
    assert tables.flops_per_s is None
    assert tables.bytes_per_s is not None
    # Nobody published the peaks of this processor.
    assert {row.flops_share for row in rows} | {row.bandwidth_share for row in rows} == {None}
    assert run_suite(QUICK, store, options=OPTIONS) == rows


def test_tables_are_cut_to_the_memory_and_say_so() -> None:
    cut, whole = (suite_cases(is_accelerator=True, memory_bytes=size)[-3] for size in (8e9, 1e12))
    assert cut.scale == "120,192 rows per table instead of 1,000,000"
    assert whole.scale == ""
    assert whole.component["rows"] == 64_000_000


def test_accelerators_have_more_dtypes_and_sizes() -> None:
    counts = [len(suite_cases(is_accelerator=is_gpu, memory_bytes=1e10)) for is_gpu in (False, True)]
    assert counts == [2 * 4 + 2 * 3 + 2 + 2, 3 * 5 + 3 * 3 + 2 + 2]


def test_what_the_suite_does_not_have_is_refused() -> None:
    with pytest.raises(InputError, match="memory_bytes must be > 0"):
        suite_cases(is_accelerator=False, memory_bytes=0)
    with pytest.raises(InputError, match="dtype must be one of float32, bfloat16, float16, but got 'int8'"):
        SuiteProvider().work(make_component("gemm", 1, {"inner": 1, "columns": 1}, dtype="int8"))
    with pytest.raises(InputError, match="phase must be one of forward, backward, optimizer, but got 'sideways'"):
        SuiteProvider().work(make_component("mlp", 1, {"layers": 1, "width": 1}, phase="sideways"))
