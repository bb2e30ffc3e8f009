import numpy as np
import pytest

from serving_sim import kernels
from serving_sim.kernels import Chunk, accounting, backlog
from serving_sim.paths import compile_paths
from serving_sim.policies import as_policy, routing_context
from serving_sim.run import Run, start_run
from serving_sim.testing import small_plan
from serving_sim.workload import empty_chunk

COUNT = 400


def served() -> Chunk:
    """Two classes, a few refused queries, and waits on every path."""
    rng, chunk = np.random.default_rng(0), empty_chunk(COUNT, 1)
    chunk.size_N[:] = rng.integers(1, 4097, COUNT)
    chunk.class_N[:] = rng.integers(0, 2, COUNT)
    chunk.path_N[:] = rng.integers(-1, 6, COUNT)
    chunk.arrival_ms_N[:] = np.cumsum(rng.exponential(size=COUNT))
    was_served = chunk.path_N >= 0
    chunk.start_ms_N[:] = chunk.arrival_ms_N + rng.exponential(size=COUNT) * was_served
    chunk.service_ms_N[:] = rng.exponential(size=COUNT) * was_served
    return chunk


def new_run() -> Run:
    plan = small_plan()
    rule = as_policy("mp-rec").compile(routing_context(plan))
    return start_run(
        compile_paths(plan).arrays,
        rule,
        qps=1.0,
        sla_ms=(1.0, 3.0),
        warmup=7,
        exact=COUNT,
        sections=3,
        section_queries=110,
    )


def part_of(chunk: Chunk, start: int, end: int) -> Chunk:
    return Chunk._make(values[..., start:end] for values in chunk)


def account(chunk: Chunk, count: int, run: Run) -> None:
    accounting.account_chunk(chunk, count, run.warmup, run.sla_ms_C, run.paths, run.queues.busy_ms_D, run.totals)


def account_in_python(chunk: Chunk, count: int, run: Run) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, function in list(vars(accounting).items()):
            if hasattr(function, "py_func"):
                patch.setattr(accounting, name, function.py_func)
        account(chunk, count, run)


def test_totals_are_those_of_the_plainest_code() -> None:
    run, chunk = new_run(), served()
    account(chunk, COUNT, run)
    latency_ms_N = chunk.start_ms_N - chunk.arrival_ms_N + chunk.service_ms_N
    for class_, sla_ms in enumerate((1.0, 3.0)):
        own = (chunk.class_N == class_) & (np.arange(COUNT) >= 7)
        kept = own & (chunk.path_N >= 0)
        good = kept & (latency_ms_N <= sla_ms)
        counts, sums = run.totals.counts_CF[class_], run.totals.sums_CF[class_]
        correct_N = run.paths.accuracy_P[chunk.path_N] * chunk.size_N
        assert counts[kernels.COUNTED] == own.sum()
        assert counts[kernels.VIOLATIONS] == own.sum() - good.sum()
        assert counts[kernels.SAMPLES] == chunk.size_N[kept].sum()
        assert sums[kernels.CORRECT] == pytest.approx(correct_N[kept].sum())
        assert sums[kernels.CORRECT_IN_SLA] == pytest.approx(correct_N[good].sum())
        assert sums[kernels.LATENCY_MS] == pytest.approx(latency_ms_N[kept].sum())
        assert np.array_equal(run.totals.queries_CS[class_], np.bincount(chunk.size_N[own], minlength=4097))
        assert run.totals.histogram_CB[class_].sum() == kept.sum()
        section_N = np.minimum((np.arange(COUNT) - 7) // 110, 3)
        for section, counts in enumerate(run.totals.sections_CKF[class_]):
            in_it = section_N == section
            late = (own & in_it).sum() - (good & in_it).sum()
            assert counts.tolist() == [(own & in_it).sum(), late]
            assert run.totals.histogram_CKB[class_, section].sum() == (kept & in_it).sum()
    kept = (np.arange(COUNT) >= 7) & (chunk.path_N >= 0)
    found_PC = np.zeros_like(run.totals.by_class_PC)
    np.add.at(found_PC, (chunk.path_N[kept], np.log2(chunk.size_N[kept]).astype(np.int64)), 1)
    assert np.array_equal(run.totals.by_class_PC, found_PC)
    assert sorted(run.totals.exact_ms[: kept.sum()]) == sorted(latency_ms_N[kept])


def test_chunks_of_any_length_add_up_alike() -> None:
    whole, parts, chunk = new_run(), new_run(), served()
    account(chunk, COUNT, whole)
    for start in range(0, COUNT, 7):
        end = min(start + 7, COUNT)
        account(part_of(chunk, start, end), end - start, parts)
    kept = whole.totals.histogram_B.sum()
    whole.totals.exact_ms[:kept].sort()
    parts.totals.exact_ms[:kept].sort()
    for one, other in zip(whole.totals[:-1], parts.totals[:-1], strict=True):
        assert np.array_equal(np.asarray(one), np.asarray(other))
    assert np.array_equal(whole.totals.exact_ms[:kept], parts.totals.exact_ms[:kept])
    assert np.array_equal(whole.queues.busy_ms_D, parts.queues.busy_ms_D)


def test_python_does_what_is_compiled() -> None:
    compiled, plain, chunk = new_run(), new_run(), served()
    account(chunk, COUNT, compiled)
    account_in_python(chunk, COUNT, plain)
    for ours, theirs in zip(compiled.totals[:-1], plain.totals[:-1], strict=True):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-12)


def test_python_adds_up_queues_as_the_compiled_code_does() -> None:
    chunk, device_P = served(), np.array([0, 0, 0, 1, 1, 1])
    sums = []
    for add in (backlog.add_backlog, backlog.add_backlog.py_func):
        arrays = (np.zeros((16, 2), dtype=np.int64), np.zeros((16, 2)), np.zeros((16, 2)), np.zeros(16))
        add(chunk, COUNT, 20.0, device_P, *arrays)
        sums.append(arrays)
    for ours, theirs in zip(*sums, strict=True):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-12)
    bins_N = np.minimum((chunk.arrival_ms_N / 20.0).astype(np.int64), 15)[chunk.path_N >= 0]
    assert np.array_equal(sums[0][0].sum(axis=1), np.bincount(bins_N, minlength=16))
