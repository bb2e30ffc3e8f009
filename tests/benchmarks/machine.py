"""What a benchmark ran on, and how busy it was with other work."""

import os
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

__all__ = ["BUSY_LOAD", "describe_machine", "load_average"]

# A benchmark is one busy process; above this, others took their share of the machine.
BUSY_LOAD = 1.5
_LIBRARIES = ("numba", "numpy", "scikit-learn", "simpy", "torch")


def describe_machine() -> dict[str, Any]:
    """Processor, memory, libraries, revision, the load average of the last minute, the date."""
    from profiles.fingerprint import current_fingerprint

    here = current_fingerprint()
    return {
        "processor": here.processor,
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "python": here.python,
        "libraries": {name: metadata.version(name) for name in _LIBRARIES},
        "git_revision": here.git_revision,
        "load_before": load_average(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def load_average() -> float:
    """Processes that ran or waited to, over the last minute."""
    return round(os.getloadavg()[0], 2)
