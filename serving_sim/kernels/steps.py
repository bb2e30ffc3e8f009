"""A tiered rule worked out for each class and size, so that serving compares waits with limits and computes nothing."""

import numpy as np

from serving_sim.kernels.arrays import NEVER_MS, TIERED, Floats, Ints, PathArrays, Rule, Steps
from serving_sim.kernels.compiled import compiled

__all__ = ["compile_steps"]

# Steps take 20 bytes each; beyond this many, a rule is followed entry by entry.
_MOST_STEPS = 2**22


def compile_steps(rule: Rule, paths: PathArrays) -> Steps | None:
    """The steps, or none where the rule has other than tiers, or entries of one tier and device that limits cross.

    They decide exactly as the rule does: a limit is the longest wait at which wait + service, rounded, is within it.
    """
    if rule.kind != TIERED or paths.uncertain_D.any():
        return None
    classes, sizes, devices = len(rule.limit_ms_CE), len(paths.service_ms_SP), max(len(paths.servers_D), 2)
    device_E = paths.device_P[rule.path_E]
    pairs = set(zip(device_E.tolist(), rule.tier_E.tolist(), strict=True))
    count = max(sum(device == one for device, _ in pairs) for one in range(devices))
    if classes * sizes * devices * (count + 1) > _MOST_STEPS:
        return None
    limit_ms_RDL = np.full((classes * sizes, devices, count), np.inf)
    service_ms_RDL = np.full((classes * sizes, devices, count + 1), NEVER_MS)
    tier_entry_RDL = np.empty((classes * sizes, devices, count + 1), dtype=np.int32)
    arrays = (rule.path_E, device_E, rule.tier_E, rule.rate_per_ms_E)
    if not _fill(arrays, rule.limit_ms_CE, paths.service_ms_SP, limit_ms_RDL, service_ms_RDL, tier_entry_RDL):
        return None
    while count and np.all(limit_ms_RDL[:, :, count - 1] == np.inf):
        count -= 1
    rows = classes * sizes
    return Steps(
        sizes=sizes,
        limits=count,
        limit_ms_RX=limit_ms_RDL[:, :, :count].reshape(rows, -1),
        service_ms_RX=service_ms_RDL[:, :, : count + 1].reshape(rows, -1),
        tier_entry_RX=tier_entry_RDL[:, :, : count + 1].reshape(rows, -1),
    )


@compiled
def _fill(
    rule_E: tuple[Ints, Ints, Ints, Floats],
    limit_ms_CE: Floats,
    service_ms_SP: Floats,
    limit_ms_RDL: Floats,
    service_ms_RDL: Floats,
    tier_entry_RDL: Ints,
) -> bool:
    """Fill the steps, class by class and size by size; false where limits cross."""
    path_E, device_E, tier_E, rate_per_ms_E = rule_E
    none = tier_E[-1] + 1
    sizes = service_ms_SP.shape[0]
    for row in range(limit_ms_RDL.shape[0]):
        class_, size = row // sizes, row % sizes
        for device in range(limit_ms_RDL.shape[1]):
            step, highest_ms, entry = 0, -np.inf, 0
            while entry < tier_E.size:
                tier, best, least_ms, limit_ms, most_ms = tier_E[entry], -1, np.inf, -np.inf, -np.inf
                while entry < tier_E.size and tier_E[entry] == tier:
                    service_ms = service_ms_SP[size, path_E[entry]]
                    if device_E[entry] == device and size >= rate_per_ms_E[entry] * service_ms:
                        wait_ms = _longest_wait_ms(service_ms, limit_ms_CE[class_, entry])
                        most_ms = max(most_ms, wait_ms)
                        if wait_ms >= 0 and service_ms < least_ms:
                            best, least_ms, limit_ms = entry, service_ms, wait_ms
                    entry += 1
                if limit_ms < most_ms:
                    return False
                if best >= 0 and limit_ms > highest_ms:
                    limit_ms_RDL[row, device, step] = highest_ms = limit_ms
                    service_ms_RDL[row, device, step] = least_ms
                    tier_entry_RDL[row, device, step] = tier << 16 | best
                    step += 1
            tier_entry_RDL[row, device, step:] = (none + 1) << 16
            if device == device_E[-1]:
                tier_entry_RDL[row, device, step:] = none << 16 | path_E.size - 1
                service_ms_RDL[row, device, step:] = service_ms_SP[size, path_E[-1]]
    return True


@compiled
def _longest_wait_ms(service_ms: float, limit_ms: float) -> float:
    """The longest wait that with the service, rounded, is within the limit; -inf where none is."""
    if service_ms > limit_ms or limit_ms == np.inf:
        return -np.inf if service_ms > limit_ms else np.inf
    wait_ms = limit_ms - service_ms + (np.nextafter(limit_ms, np.inf) - limit_ms) / 2
    while service_ms + wait_ms > limit_ms:
        wait_ms = np.nextafter(wait_ms, -np.inf)
    while service_ms + np.nextafter(wait_ms, np.inf) <= limit_ms:
        wait_ms = np.nextafter(wait_ms, np.inf)
    return float(wait_ms)
