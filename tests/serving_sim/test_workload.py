from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles.errors import InputError
from serving_sim.kernels import Chunk
from serving_sim.paths import Spread
from serving_sim.plan import Arrivals, Sizes, Spike, Workload
from serving_sim.workload import WorkloadStream, at_rate, empty_chunk

SPREADS = (Spread(), Spread(kind="lognormal", sigma=0.5), Spread(kind="exponential"))


def draw(count: int, *, seed: int = 0, chunks: int = 1, **load: Any) -> Chunk:
    stream, chunk = WorkloadStream(Workload(qps=1, sla_ms=1, **load), SPREADS, seed), empty_chunk(count, len(SPREADS))
    step = count // chunks
    for start in range(0, count, step):
        place = slice(start, start + step)
        part = chunk._replace(
            gap_N=chunk.gap_N[place],
            size_N=chunk.size_N[place],
            class_N=chunk.class_N[place],
            factor_KN=chunk.factor_KN[:, place],
        )
        stream.fill(part, part.gap_N.size)
    return chunk


@pytest.mark.parametrize(("arrivals", "cv"), [(Arrivals(), 1.0), (Arrivals(process="gamma", cv=2.0), 2.0)])
def test_gaps_have_mean_one_and_the_asked_variation(arrivals: Arrivals, cv: float) -> None:
    gaps = draw(400_000, arrivals=arrivals).gap_N
    assert gaps.mean() == pytest.approx(1.0, rel=0.02)
    assert gaps.std() / gaps.mean() == pytest.approx(cv, rel=0.02)


def test_lognormal_sizes_have_the_asked_mean_median_and_tail() -> None:
    sizes = draw(400_000, sizes=Sizes(mean=128, sigma=1.0, maximum=2**20)).size_N
    assert sizes.mean() == pytest.approx(128, rel=0.01)
    assert np.percentile(sizes, [50, 95, 99]).tolist() == pytest.approx([78, 402, 795], rel=0.02)


@given(sigma=st.floats(0, 9.9), mean=st.floats(1, 64), seed=st.integers(0, 2**63))
@settings(max_examples=50, deadline=None)
def test_sizes_stay_between_one_and_the_maximum(sigma: float, mean: float, seed: int) -> None:
    sizes = draw(200, seed=seed, sizes=Sizes(mean=mean, sigma=sigma, maximum=64)).size_N
    assert sizes.min() >= 1
    assert sizes.max() <= 64


def test_fixed_sizes_are_all_the_rounded_mean() -> None:
    assert set(draw(10, sizes=Sizes(distribution="fixed", mean=99.6)).size_N.tolist()) == {100}


def test_service_factors_have_mean_one_and_the_asked_spread() -> None:
    none, lognormal, exponential = draw(400_000).factor_KN
    assert set(none.tolist()) == {1.0}
    assert [lognormal.mean(), exponential.mean()] == pytest.approx([1, 1], rel=0.01)
    assert [np.log(lognormal).std(), exponential.std()] == pytest.approx([0.5, 1], rel=0.01)


def test_a_replayed_trace_goes_round_at_the_mean_rate_from_where_the_seed_says(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("arrival_s,size\n10,10\n11,20\n16,30\n")
    load: dict[str, Any] = {
        "arrivals": Arrivals(process="trace", source=str(file)),
        "sizes": Sizes(distribution="trace", source=str(file), mean=40, maximum=50),
    }
    chunk = draw(9, chunks=3, **load)
    assert np.tile(chunk.gap_N[:3], 3).tolist() == chunk.gap_N.tolist()
    assert chunk.gap_N.sum() == pytest.approx(9)
    # Sizes 10, 20, 30 are rescaled to a mean of 40 and clipped; the gap before each query stays with it.
    before = {20: 1.0, 40: 1 / 3, 50: 5 / 3}
    assert [before[int(size)] for size in chunk.size_N] == pytest.approx(chunk.gap_N.tolist())
    assert len({draw(1, seed=seed, **load).size_N[0] for seed in range(20)}) == 3


def test_quantities_are_independent_of_each_other_and_of_the_chunks() -> None:
    one, other = draw(600), draw(600, chunks=6, sizes=Sizes(distribution="fixed", mean=3))
    assert np.array_equal(one.gap_N, other.gap_N)
    assert np.array_equal(one.factor_KN, other.factor_KN)
    assert abs(np.corrcoef(one.gap_N, one.factor_KN[2])[0, 1]) < 0.2


def test_a_trace_must_have_the_wanted_column_and_two_arrivals(tmp_path: Path) -> None:
    (tmp_path / "times.txt").write_text("1\n2\n")
    with pytest.raises(InputError, match=r"times\.txt: must have a column size"):
        draw(1, sizes=Sizes(distribution="trace", source=str(tmp_path / "times.txt")))
    with pytest.raises(InputError, match="seed: must be >= 0, but got -1"):
        draw(1, seed=-1)


def test_queries_drawn_once_take_their_times_at_any_rate() -> None:
    spiked = Arrivals(process="weibull", cv=2, spikes=(Spike(start_s=1, duration_s=2, factor=3.0),))
    drawn = empty_chunk(500, 0)
    WorkloadStream(Workload(qps=1, sla_ms=1, arrivals=spiked), (), 4, timed=False).fill(drawn, 500)
    for qps in (10.0, 200.0):
        load, timed = Workload(qps=qps, sla_ms=1, arrivals=spiked), empty_chunk(500, 0)
        WorkloadStream(load, (), 4).fill(timed, 500)
        assert np.array_equal(at_rate(drawn, load, 4).gap_N, timed.gap_N)
    assert at_rate(drawn, Workload(qps=9, sla_ms=1), 4) is drawn
