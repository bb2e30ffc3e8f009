"""What two set-ups of a measurement differ in: the reason why one's figures do not hold for the other."""

from collections.abc import Iterable
from dataclasses import fields

from profiles.records import ComponentProfile, Fingerprint

__all__ = ["other_setups", "setup_differences"]

# Do not decide whether measurements may be compared.
_NOT_COMPARED = ("git_revision", "timestamp", "libraries")


def setup_differences(stored: Fingerprint, now: Fingerprint) -> tuple[str, ...]:
    """One text per difference, such as `threads 2 (now 1)` or `torch 2.12.0 (now 2.13.0)`; none for equal set-ups.

    Libraries come with the state of the processor: usable cores and the instruction set of torch's kernels.
    """
    names = [part.name for part in fields(Fingerprint) if part.name not in _NOT_COMPARED]
    pairs = {name: (str(getattr(stored, name)), str(getattr(now, name))) for name in names}
    before, after = dict(stored.libraries), dict(now.libraries)
    for name in sorted(before | after):
        pairs[name] = before.get(name, "absent"), after.get(name, "absent")
    return tuple(f"{name} {old or 'none'} (now {new or 'none'})" for name, (old, new) in pairs.items() if old != new)


def other_setups(rows: Iterable[ComponentProfile], now: Fingerprint) -> tuple[str, ...]:
    """For each other set-up among the rows of this device, how many there are and what differs."""
    setups: dict[str, list[ComponentProfile]] = {}
    for row in rows:
        if row.device == now.device and row.fingerprint.device_key() != now.device_key():
            setups.setdefault(row.fingerprint.device_key(), []).append(row)
    return tuple(
        f"{len(found)} row{'' if len(found) == 1 else 's'} of {now.device} with "
        + ", ".join(setup_differences(found[0].fingerprint, now))
        for found in setups.values()
    )
