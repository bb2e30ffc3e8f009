"""How much an iteration's time follows each constant of the hardware, and what planning for other hardware costs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import log

from planner.distributed.cluster import Cluster
from planner.distributed.hbm_cache import IdReuse
from planner.distributed.iteration.component_times import ComponentTimes
from planner.distributed.iteration.model import on_cluster, predict_iteration
from planner.distributed.iteration.training_job import TrainingJob
from planner.distributed.network import COLLECTIVES, Network
from planner.distributed.plan import ShardingPlan
from planner.distributed.whatif import PlanTables, Scenario, planned
from profiles.errors import InputError

__all__ = ["Sensitivity", "hardware_constants", "planned_for_other_hardware", "sensitivity"]

Scale = Callable[[Cluster, float], Cluster]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sensitivity:
    """The iteration with one constant divided and multiplied by `factor`, the plan as it was.

    `elasticity` is the change of the logarithm of the time over that of the constant, across both: -1 where the time is
    inversely proportional to it, 0 where it does not matter.
    """

    constant: str
    factor: float
    divided_ms: float
    multiplied_ms: float

    @property
    def elasticity(self) -> float:
        """See the class."""
        return log(self.multiplied_ms / self.divided_ms) / (2 * log(self.factor))


def hardware_constants(cluster: Cluster) -> Mapping[str, Scale]:
    """By name, how to scale each constant of a cluster by a factor."""
    scales: dict[str, Scale] = {
        "matrix products": _flops,
        **{f"{tier.name} bandwidth": partial(_tier, tier.name) for tier in cluster.tiers},
        "host link": lambda one, factor: replace(
            one, host_to_device_bytes_per_s=one.host_to_device_bytes_per_s * factor
        ),
        "kernel launch": lambda one, factor: replace(one, kernel_launch_s=one.kernel_launch_s * factor),
    }
    for place in ("intra",) if cluster.nodes == 1 else ("inter", "intra"):
        title = "between nodes" if place == "inter" else "in nodes"
        scales |= {f"{name} {title}": partial(_bandwidth, place, name) for name in COLLECTIVES}
        scales[f"latency {title}"] = partial(_latency, place)
        scales[f"half message {title}"] = partial(_half_message, place)
    return scales


def sensitivity(
    job: TrainingJob,
    plan: ShardingPlan,
    *,
    factor: float = 2.0,
    cluster: Cluster | None = None,
    times: ComponentTimes | None = None,
    reuse: Mapping[str, IdReuse] | None = None,
) -> tuple[Sensitivity, ...]:
    """Every constant of the cluster divided and multiplied by `factor`; the ones that matter most first.

    Measured `times` follow no constant. `reuse` is that of `predict_iteration`.

    Raises:
        InputError: a factor of 1 or below.
    """
    if not 1 < factor < float("inf"):
        raise InputError(f"factor: must be finite and > 1, but got {factor}")
    base = plan.cluster if cluster is None else cluster
    found = []
    for name, scale in hardware_constants(base).items():
        divided, multiplied = (
            predict_iteration(job, plan, scale(base, power), times=times, reuse=reuse).iteration_ms
            for power in (1 / factor, factor)
        )
        found.append(Sensitivity(constant=name, factor=factor, divided_ms=divided, multiplied_ms=multiplied))
    return tuple(sorted(found, key=lambda one: -abs(one.elasticity)))


def planned_for_other_hardware(
    scenario: Scenario, believed: Cluster, *, plan: PlanTables = planned
) -> tuple[float, float]:
    """Iteration in ms with the plan made for the scenario's own cluster, and with the one made for `believed`.

    Both run on the scenario's cluster: what wrong constants in a planner cost.

    Raises:
        InputError: another number of nodes, devices or another tier.
    """
    own = plan(scenario)
    other = on_cluster(plan(replace(scenario, cluster=believed)), scenario.cluster)
    first, second = (predict_iteration(scenario.job, one).iteration_ms for one in (own, other))
    return first, second


def _flops(cluster: Cluster, factor: float) -> Cluster:
    return replace(cluster, flops_per_s={dtype: rate * factor for dtype, rate in cluster.flops_per_s.items()})


def _tier(name: str, cluster: Cluster, factor: float) -> Cluster:
    tiers = tuple(
        replace(tier, bandwidth_bytes_per_s=tier.bandwidth_bytes_per_s * factor) if tier.name == name else tier
        for tier in cluster.tiers
    )
    return replace(cluster, tiers=tiers)


def _bandwidth(place: str, collective: str, cluster: Cluster, factor: float) -> Cluster:
    network: Network = getattr(cluster, place)
    faster = network.faster(factor)
    rates: dict[str, float] = {
        name: (faster if name == collective else network).bandwidth_bytes_per_s[name] for name in COLLECTIVES
    }
    measured = tuple(
        new if old.collective == collective else old for old, new in zip(network.measured, faster.measured, strict=True)
    )
    return _with_network(cluster, place, replace(network, bandwidth_bytes_per_s=rates, measured=measured))


def _latency(place: str, cluster: Cluster, factor: float) -> Cluster:
    network: Network = getattr(cluster, place)
    changed = replace(
        network,
        latency_s=network.latency_s * factor,
        latency_per_rank_s=network.latency_per_rank_s * factor,
    )
    return _with_network(cluster, place, changed)


def _half_message(place: str, cluster: Cluster, factor: float) -> Cluster:
    network: Network = getattr(cluster, place)
    return _with_network(cluster, place, replace(network, half_message_bytes=network.half_message_bytes * factor))


def _with_network(cluster: Cluster, place: str, network: Network) -> Cluster:
    return replace(cluster, inter=network) if place == "inter" else replace(cluster, intra=network)
