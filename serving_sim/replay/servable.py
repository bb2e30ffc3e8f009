"""Which paths of a plan this machine can serve, and why it leaves the others out."""

from dataclasses import dataclass, replace

from profiles.errors import InputError
from profiles.hardware import LOCAL_CPU
from serving_sim.kernels import FIXED, PRICED, TIERED
from serving_sim.plan import Device, Path, Plan
from serving_sim.policies import PolicyLike, as_policy, routing_context

__all__ = ["Servable", "servable_part"]

_KINDS = ("", LOCAL_CPU)


@dataclass(frozen=True, kw_only=True, slots=True)
class Servable:
    """What of a plan is served: the plan without the rest, and a statement for each path left out."""

    plan: Plan
    skipped: tuple[str, ...]


def servable_part(plan: Plan, policy: PolicyLike | None = None) -> Servable:
    """The plan's paths on this machine's processor that name a model.

    Raises:
        InputError: no path is left, or the policy routes to one that is not, or otherwise than path by path.
    """
    reasons = {path.name: _why_not(path, plan) for path in plan.paths}
    paths = tuple(path for path in plan.paths if not reasons[path.name])
    skipped = tuple(f"{name} is not served: {reason}" for name, reason in reasons.items() if reason)
    if not paths:
        raise InputError(f"paths: none can be served on this machine; {'; '.join(skipped)}")
    names = {path.device for path in paths}
    devices = tuple(device for device in plan.devices if device.name in names)
    served = replace(plan, paths=paths, devices=devices, caches=())
    _require_routable(served, policy, skipped)
    return Servable(plan=served, skipped=skipped)


def _why_not(path: Path, plan: Plan) -> str:
    device = plan.devices[plan.device_of(path)]
    if reason := _why_not_here(device):
        return reason
    if path.model is None:
        return "the plan holds no model of it"
    if path.cache:
        return f"it looks into the cache {path.cache}, which a rebuilt model does not have"
    if path.shards:
        return "its shards are not on this machine"
    return ""


def _why_not_here(device: Device) -> str:
    if device.kind not in _KINDS:
        return f"device {device.name} ({device.kind}) is not this machine's processor"
    if device.state == "failed":
        return f"device {device.name} has failed"
    if device.mtbf_s is not None or device.outages or device.warm_up_s:
        return f"failures and warm-up of device {device.name} are simulated only"
    return ""


def _require_routable(plan: Plan, policy: PolicyLike | None, skipped: tuple[str, ...]) -> None:
    try:
        router = as_policy(plan.policy if policy is None else policy)
        rule = router.compile(routing_context(plan))
    except InputError as error:
        why = f"; {'; '.join(skipped)}" if skipped else ""
        raise InputError(f"policy: {error}{why}; another policy: --policy") from error
    forms_batches = rule.kind in (FIXED, TIERED) and rule.options_O.size > 0
    if forms_batches or rule.kind not in (FIXED, TIERED, PRICED):
        raise InputError(f"policy: {router.name} is simulated only; replay serves each query whole and alone")
