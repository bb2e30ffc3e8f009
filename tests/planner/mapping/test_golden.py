"""Fixed candidates, devices and seed give the stored plan; run as a module, this file stores it anew."""

import json
from pathlib import Path
from typing import Any

from planner.cost_model.catalogue import RooflineDeviceModel
from planner.cost_model.composition import CostModel
from planner.cost_model.model import fit_device_model
from planner.mapping.algorithm import map_candidates
from planner.study import DeviceSection
from representations.components import components_of, work_of
from serving_sim.plan import Arrivals, Sizes, Workload, plan_from_object
from tests.planner.cost_model.synthetic import profiles_of
from tests.planner.mapping.pools import dhes, hybrids, tables, tiny_base
from tests.serving_sim.test_golden import assert_same

FILE = Path(__file__).parent / "golden" / "plan.json"
WORKLOAD = Workload(
    qps=500.0,
    sla_ms=10.0,
    queries=1000,
    arrivals=Arrivals(process="trace", source="azure-conversation"),
    sizes=Sizes(mean=64.0, sigma=0.7, maximum=512),
)


def golden_plan() -> dict[str, Any]:
    """One device answers from measurements of every component, two are estimated, and one is too small for anything."""
    base = tiny_base()
    pool = (tables(base, 8), dhes(base, 8), hybrids(base, 8), dhes(base, 8, 0.7805, k=64))
    sizes = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
    measured = {placed.component for one in pool for size in sizes for placed in components_of(one.model, size)}
    devices = (
        DeviceSection(name="cpu", kind="local-cpu", memory="10 MB", price_per_hour=0.1, power_w=90),
        DeviceSection(name="gpu", kind="v100", memory="1 MB"),
        DeviceSection(name="ipu", kind="ipu-m2000"),
        DeviceSection(name="watch", kind="h200", memory="1 kB"),
    )
    estimated = {device.name: RooflineDeviceModel(hardware=device.hardware, work=work_of) for device in devices[1:]}
    here = fit_device_model(profiles_of(sorted(measured, key=lambda one: (one.spec(), one.batch))), work_of)
    cost_model = CostModel(models={"cpu": here, **estimated})
    plan = map_candidates(pool, devices, cost_model, WORKLOAD, name="golden", seed=3).plan.to_object()
    # What this machine calls itself is no part of the plan's logic.
    plan["devices"][0]["title"] = "this machine"
    body: dict[str, Any] = json.loads(json.dumps(plan))
    return body


def test_the_golden_plan_is_reproduced() -> None:
    stored = plan_from_object(json.loads(FILE.read_text(encoding="utf-8"))).to_object()
    assert_same(golden_plan(), json.loads(json.dumps(stored)))


if __name__ == "__main__":
    FILE.write_text(json.dumps(golden_plan(), indent=1) + "\n", encoding="utf-8")
