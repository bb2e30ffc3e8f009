"""Small random plans whose devices fail, whose paths have shards, and whose policies join and split queries."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from serving_sim.engine import QueryTrace
from serving_sim.plan import Device, Outage, Path, Plan, PolicyChoice, Shard
from tests.serving_sim.reference import POLICIES, latency_tables, plans

GENERAL = (
    PolicyChoice(name="batching", options={"most_samples": 40, "wait_ms": 2.0}),
    PolicyChoice(name="batching", options={"most_samples": 200, "wait_ms": 0.0, "routing": "static"}),
    PolicyChoice(name="batching", options={"most_samples": 200, "routing": "mp-rec"}),
)


@st.composite
def outages(draw: st.DrawFn) -> tuple[Outage, ...]:
    edges = sorted(draw(st.sets(st.integers(0, 400), max_size=4)))
    return tuple(
        Outage(start_s=start / 1e3, end_s=end / 1e3) for start, end in zip(edges[::2], edges[1::2], strict=False)
    )


@st.composite
def failing(draw: st.DrawFn, device: Device) -> Device:
    fails = draw(st.booleans())
    return replace(
        device,
        outages=draw(outages()),
        mtbf_s=draw(st.floats(0.02, 1.0)) if fails else None,
        repair_s=draw(st.floats(0.001, 0.2)) if fails else None,
        warm_up_s=draw(st.sampled_from([0.0, 0.05])),
        warm_up_factor=draw(st.sampled_from([1.0, 2.5])),
        detection_s=draw(st.sampled_from([0.0, 0.01])),
        on_failure=draw(st.sampled_from(["redispatch", "restart"])),
    )


@st.composite
def event_plans(draw: st.DrawFn) -> Plan:
    plan = draw(plans())
    kinds = sorted({path.representation for path in plan.paths})
    split = PolicyChoice(
        name="split",
        options={"mode": draw(st.sampled_from(["even", "proportional"])), "representation": kinds[0]},
    )
    priced = PolicyChoice(name="headroom", options={"refuse": draw(st.booleans())})
    policy = draw(st.sampled_from([*POLICIES, *GENERAL, split, priced]))
    paths = plan.paths if policy is split else tuple(draw(maybe_sharded(path, plan.devices)) for path in plan.paths)
    return replace(plan, devices=tuple(draw(failing(device)) for device in plan.devices), paths=paths, policy=policy)


@st.composite
def maybe_sharded(draw: st.DrawFn, path: Path, devices: tuple[Device, ...]) -> Path:
    shards = tuple(
        Shard(device=draw(st.sampled_from(devices)).name, latency=draw(latency_tables()))
        for _ in range(draw(st.sampled_from([0, 0, 2])))
    )
    return replace(path, shards=shards)


def most_at_a_time(traced: QueryTrace, is_own_N: NDArray[np.bool_]) -> int:
    """The most of these queries that are served at a time; one that starts as another ends comes after it."""
    starts, ends = traced.start_ms_N[is_own_N], traced.finish_ms_N[is_own_N]
    times = np.concatenate((ends, starts))
    order = np.argsort(times, kind="stable")
    changes = np.concatenate((np.full(len(ends), -1), np.ones(len(starts), dtype=int)))[order]
    return int(np.cumsum(changes).max(initial=0))
