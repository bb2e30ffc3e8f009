"""Contract tests that any implementation of an extension point passes: subclass one in a test module.

class TestMyPolicy(PolicyContract):
    def make(self) -> Policy:
        return MyPolicy(option=1)
"""

import dataclasses
from abc import ABC, abstractmethod

import numpy as np

from serving_sim.engine import trace_run
from serving_sim.kernels import REFUSAL
from serving_sim.plan import Device, LatencyTable, Path, Plan, PolicyChoice, Sizes, Workload
from serving_sim.policies import Policy, routing_context

__all__ = ["PolicyContract", "small_plan"]


def small_plan(
    *, qps: float = 400.0, sla_ms: float = 10.0, queries: int = 2_000, policy: PolicyChoice | None = None, seed: int = 0
) -> Plan:
    """Table, DHE and hybrid on a CPU of two servers and on a GPU: invented figures in MP-Rec's proportions."""
    shapes = {"cpu": (0.2, 0.9, 22.0), "gpu": (0.6, 0.8, 4.5)}
    slowdown = {"cpu": (1.0, 9.0, 10.0), "gpu": (1.0, 4.0, 4.6)}
    kinds = (("table", 0.7879), ("dhe", 0.7889), ("hybrid", 0.7898))
    paths = tuple(
        Path(
            name=f"{kind}-{device}",
            representation=kind,
            device=device,
            accuracy=accuracy,
            latency=LatencyTable(sizes=(1, 128, 4096), mean_ms=tuple(ms * slowdown[device][place] for ms in shape)),
        )
        for device, shape in shapes.items()
        for place, (kind, accuracy) in enumerate(kinds)
    )
    return Plan(
        name="small",
        devices=(Device(name="cpu", servers=2, busy_w=100.0, idle_w=20.0), Device(name="gpu", busy_w=250.0)),
        paths=paths,
        workload=Workload(qps=qps, sla_ms=sla_ms, queries=queries, sizes=Sizes(mean=128, sigma=1.0, maximum=4096)),
        policy=policy or PolicyChoice(),
        seed=seed,
    )


class PolicyContract(ABC):
    """What every policy keeps: a frozen dataclass whose rules are sound, repeatable, and forget no query."""

    @abstractmethod
    def make(self) -> Policy:
        """The policy under test, with options that suit `plan`."""

    def plan(self) -> Plan:
        """A plan that the policy can serve."""
        return small_plan()

    def test_is_a_frozen_dataclass_with_a_name(self) -> None:
        policy = self.make()
        assert policy.name
        assert dataclasses.is_dataclass(policy)
        assert hash(policy) == hash(self.make())

    def test_compiles_to_the_same_rule_each_time(self) -> None:
        context = routing_context(self.plan())
        first, second = self.make().compile(context), self.make().compile(context)
        assert first.kind == second.kind
        assert np.array_equal(first.path_E, second.path_E)
        assert np.array_equal(first.tier_E, second.tier_E)
        assert np.array_equal(first.limit_ms_CE, second.limit_ms_CE)
        assert np.array_equal(first.rate_per_ms_E, second.rate_per_ms_E)
        assert np.array_equal(first.options_O, second.options_O)

    def test_names_only_paths_that_are_there(self) -> None:
        plan = self.plan()
        rule = self.make().compile(routing_context(plan))
        assert set(rule.path_E.tolist()) <= set(range(len(plan.paths)))
        assert np.all(np.diff(rule.tier_E) >= 0)

    def test_serves_or_refuses_every_query_under_light_and_heavy_load_and_an_impossible_sla(self) -> None:
        light = self.plan().at(queries=200)
        for plan in (light, light.at(qps=1e6), light.at(sla_ms=1e-6)):
            traced = trace_run(plan, policy=self.make())
            assert set(traced.path_N.tolist()) <= {REFUSAL, *range(len(plan.paths))}
            assert np.all(np.isfinite(traced.start_ms_N))
