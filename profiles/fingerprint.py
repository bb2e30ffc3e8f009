"""What a measurement was made with: device, threads, library versions, source revision, time."""

import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from profiles.devices import resolve_device
from profiles.hardware import LOCAL_CPU
from profiles.records import Fingerprint

__all__ = ["current_fingerprint", "current_timestamp"]

_LIBRARIES = ("numpy", "recplan", "torch")
# These compile components where they are installed.
_COMPILERS = ("llvmlite", "numba")


def current_fingerprint(device: str = LOCAL_CPU, threads: int | None = None) -> Fingerprint:
    """The fingerprint of a measurement made here and now; `libraries` also hold cores and torch's kernels.

    `device` is any name that `resolve_device` takes; `threads` is the thread count that will be used, by default the
    count that torch uses now.
    """
    import torch

    local = resolve_device(device)
    return Fingerprint(
        device=local.name,
        processor=local.processor,
        threads=torch.get_num_threads() if threads is None else threads,
        python=platform.python_version(),
        libraries=(*_libraries(), *_processor_state()),
        driver=local.driver,
        git_revision=_git_revision(Path(__file__).resolve().parent.parent),
        timestamp=current_timestamp(),
    )


def current_timestamp() -> str:
    """Now, in UTC, to the microsecond: texts of equal length, so that they sort as times do."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _libraries() -> tuple[tuple[str, str], ...]:
    """Versions from the packages' metadata: none of them is imported."""
    versions = {name: _version(name) for name in (*_COMPILERS, *_LIBRARIES)}
    return tuple(
        (name, versions[name] or "not installed") for name in sorted(versions) if versions[name] or name in _LIBRARIES
    )


def _processor_state() -> tuple[tuple[str, str], ...]:
    """What the host's part of a measurement depends on besides versions: usable cores, and torch's kernels."""
    import torch

    backends: Any = torch.backends
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    libraries = {"mkl": backends.mkl.is_available(), "onednn": backends.mkldnn.is_available()}
    return (
        ("cores", str(cores)),
        ("cpu capability", backends.cpu.get_cpu_capability()),
        *((name, "yes" if is_there else "no") for name, is_there in libraries.items()),
    )


def _version(library: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return ""


def _git_revision(checkout: Path) -> str:
    """The commit that a checkout or a work tree of one stands at, read from its files; empty where there is none."""
    git = checkout / ".git"
    try:
        if git.is_file():
            git = checkout / git.read_text(encoding="utf-8").removeprefix("gitdir: ").strip()
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref: "):
            return head
        reference = head.removeprefix("ref: ")
        if (git / "commondir").is_file():
            git = git / (git / "commondir").read_text(encoding="utf-8").strip()
        if (git / reference).is_file():
            return (git / reference).read_text(encoding="utf-8").strip()
        lines = (git / "packed-refs").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    commits = [line.split(" ", 1)[0] for line in lines if line.endswith(f" {reference}")]
    return commits[0] if commits else ""
