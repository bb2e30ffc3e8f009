"""Capacity of a search's front as the simulator finds it, beside the formulas by which candidates were ordered."""

from planner.cost_model.composition import CostModel
from planner.mapping.candidate import TrainedCandidate
from planner.mapping.mapped_plan import mapped_plan
from planner.pipeline.data import StudyData
from planner.search import SearchResult, TrialRecord
from planner.study import Study
from serving_sim.capacity import find_capacity
from serving_sim.capacity_result import PolicyCapacity
from serving_sim.plan import Plan, PolicyChoice

__all__ = ["simulated_capacities"]

CAPACITY = "capacity_qps"
_SEEDS, _QUERIES, _RESOLUTION = 3, 30_000, 0.005


def simulated_capacities(
    study: Study, data: StudyData, cost_model: CostModel, result: SearchResult
) -> dict[int, PolicyCapacity]:
    """The capacity of each member of the front, by its number; empty where the search did not ask for capacity.

    A member serves the study's workload alone, on the device where it was judged.
    """
    if CAPACITY not in (*study.search.objectives, *study.search.limits):
        return {}
    return {trial.number: _capacity(_plan(study, data, cost_model, trial)) for trial in result.pareto}


def _plan(study: Study, data: StudyData, cost_model: CostModel, trial: TrialRecord) -> Plan:
    where = str(trial.choices.get("device", study.latency_device))
    one = TrainedCandidate(name=trial.model.name, model=trial.model, accuracy=trial.accuracy or 0.0)
    return mapped_plan(
        {device.name: [one] if device.name == where else [] for device in study.devices},
        study.devices,
        cost_model,
        study.workload.to_plan(study.folder),
        zipf=data.zipf,
        seed=study.seed,
    )


def _capacity(plan: Plan) -> PolicyCapacity:
    policy = PolicyChoice(name="static", options={"path": plan.paths[0].name})
    found = find_capacity(plan, [policy], seeds=_SEEDS, queries=_QUERIES, resolution=_RESOLUTION, table_errors=False)
    return found.policies[0]
