"""A tiered rule worked out for each class and size, so that serving compares waits with limits and computes nothing."""

import numpy as np
from numpy.typing import NDArray

from serving_sim.kernels.arrays import NEVER_MS, TIERED, Floats, Ints, PathArrays, Rule, Steps
from serving_sim.kernels.compiled import compiled

__all__ = ["compile_steps"]

# Steps take 20 bytes each; beyond this many, a rule is followed entry by entry.
_MOST_STEPS = 2**22
# A step's tier and entry are in one number.
_TIER_BITS, _ENTRY = 16, 0xFFFF
# Less than what two different completions can be apart.
_LEAST_MS = 1e-300


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
    tier_entry_RX = tier_entry_RDL[:, :, : count + 1].reshape(rows, -1)
    service_ms_RX = service_ms_RDL[:, :, : count + 1].reshape(rows, -1)
    # Two services that never end have no difference.
    has_margins = devices == 2 and np.isfinite(service_ms_RX).all()
    first_margin_R, margin_ms = _margins(tier_entry_RX) if has_margins else (np.empty(0, np.int64), np.empty(0))
    return Steps(
        sizes=sizes,
        limits=count,
        limit_ms_RX=limit_ms_RDL[:, :, :count].reshape(rows, -1),
        service_ms_RX=service_ms_RX,
        tier_entry_RX=tier_entry_RX,
        path_RX=rule.path_E.astype(np.int32)[tier_entry_RX & _ENTRY],
        first_margin_R=first_margin_R,
        margin_ms=margin_ms,
    )


def _margins(tier_entry_RX: NDArray[np.int32]) -> tuple[Ints, Floats]:
    """By how much the second of two devices may complete later, for each row and pair of steps; rows in a run share."""
    is_new_R = np.append(True, (tier_entry_RX[1:] != tier_entry_RX[:-1]).any(axis=1))
    first_FL, second_FL = np.split(tier_entry_RX[is_new_R], 2, axis=1)
    code_0, code_1 = first_FL[:, :, np.newaxis], second_FL[:, np.newaxis, :]
    tier_0, tier_1 = code_0 >> _TIER_BITS, code_1 >> _TIER_BITS
    even_ms = np.where(code_1 < code_0, _LEAST_MS, 0.0)
    margin_ms = np.where(tier_1 < tier_0, np.inf, np.where(tier_1 > tier_0, -np.inf, even_ms))
    pairs = margin_ms[0].size
    return (np.cumsum(is_new_R) - 1) * pairs, margin_ms.ravel()


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
