import asyncio
import importlib.util
import time
from collections.abc import Awaitable

import numpy as np
import pytest

from profiles.errors import InputError
from serving_sim.replay.live import LiveOptions, LiveTrace
from serving_sim.replay.queries import draw_queries
from serving_sim.replay.ray_serve import _arrays, _drive, require_ray_serve, serve_on_ray
from serving_sim.replay.servable import servable_part
from tests.serving_sim.replay.plans import real_plan

HAS_SERVE = importlib.util.find_spec("starlette") is not None


class LocalHandle:
    """Answers as a deployment's handle does, from this process."""

    def __init__(self) -> None:
        self.asked = 0
        self.free = asyncio.Lock()

    def remote(self, path: int, size: int, place: int) -> Awaitable[tuple[float, float]]:
        del path
        self.asked += 1
        return self._serve(size, place)

    async def _serve(self, size: int, place: int) -> tuple[float, float]:
        del place
        async with self.free:
            start_s = time.perf_counter()
            await asyncio.sleep(1e-5 * size)
            return start_s, time.perf_counter()


def test_every_query_is_sent_when_due_and_its_answer_noted() -> None:
    plan = servable_part(real_plan()).plan
    queries = draw_queries(plan, 100)

    async def drive() -> tuple[LiveTrace, int]:
        handles = [LocalHandle() for _ in plan.devices]
        trace = await _drive(plan, None, handles, _arrays(queries, plan), queries, LiveOptions())
        return trace, sum(handle.asked for handle in handles)

    trace, asked = asyncio.run(drive())
    # One more for each path, to warm up.
    assert asked == 100 + len(plan.paths)
    assert trace.returned_ms_N is not None
    assert np.all(trace.sent_ms_N >= queries.arrival_ms_N)
    assert np.all(trace.start_ms_N >= trace.sent_ms_N)
    assert np.all(trace.returned_ms_N >= trace.finish_ms_N)
    assert trace.latency_ms_N == pytest.approx(trace.returned_ms_N - queries.arrival_ms_N)


@pytest.mark.skipif(HAS_SERVE, reason="Ray Serve is installed")
def test_where_ray_serve_is_missing_the_error_says_what_to_install() -> None:
    with pytest.raises(InputError, match=r"pip install 'recplan\[serve\]'"):
        require_ray_serve()


@pytest.mark.slow
@pytest.mark.skipif(not HAS_SERVE, reason="needs the extra `serve`")
@pytest.mark.filterwarnings("ignore")  # Ray Serve's own
def test_real_models_are_served_by_deployments() -> None:
    plan = servable_part(real_plan(qps=50.0)).plan
    trace = serve_on_ray(plan, draw_queries(plan, 50))
    assert np.all(trace.latency_ms_N > trace.service_ms_N)
