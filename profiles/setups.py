"""What two set-ups of a measurement differ in: the reason why one's figures do not hold for the other."""

from dataclasses import fields

from profiles.records import Fingerprint

__all__ = ["setup_differences"]

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
