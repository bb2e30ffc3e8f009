"""Watts that a device reports of itself: RAPL counters of a processor's packages, NVML's reading of a GPU."""

import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from profiles.errors import InputError

__all__ = ["PowerMeter", "packages_of"]

_POWERCAP = Path("/sys/class/powercap")
_MICROJOULES_PER_JOULE = 1e6
_MILLIWATTS_PER_WATT = 1e3


@dataclass(frozen=True, kw_only=True, slots=True)
class _Package:
    """One counter of energy, which starts anew beyond `range_uj`."""

    energy_file: Path
    range_uj: int

    def read_uj(self) -> int:
        return int(self.energy_file.read_text(encoding="ascii"))


def packages_of(powercap: Path = _POWERCAP) -> tuple[_Package, ...]:
    """The processor packages whose counters may be read; none on most virtual machines."""
    found = []
    for folder in sorted(powercap.glob("intel-rapl:[0-9]*")):
        # Names with a second number are parts of a package, counted in it already.
        if folder.name.count(":") > 1:
            continue
        package = _Package(energy_file=folder / "energy_uj", range_uj=0)
        try:
            package.read_uj()
            limit = int((folder / "max_energy_range_uj").read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue
        found.append(_Package(energy_file=package.energy_file, range_uj=limit))
    return tuple(found)


class PowerMeter:
    """Mean watts over a `with` block in which the device works; `watts` is None where it reports none.

    A processor's are those of all its packages, whatever else runs on them; a GPU's are the mean of readings at the
    block's begin and end, so that the block should be seconds long and busy throughout.
    """

    def __init__(self, torch_name: str = "cpu", *, powercap: Path = _POWERCAP) -> None:
        self._torch_name = torch_name
        self._packages = () if torch_name.startswith("cuda") else packages_of(powercap)
        self._before: tuple[int, ...] = ()
        self._start_ns = 0
        self._gpu_watts: list[float] = []
        self.watts: float | None = None

    def __enter__(self) -> Self:
        self.watts = None
        self._gpu_watts = self._read_gpu()
        self._before = tuple(package.read_uj() for package in self._packages)
        self._start_ns = time.perf_counter_ns()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        seconds = (time.perf_counter_ns() - self._start_ns) / 1e9
        if self._packages:
            joules = sum(
                (package.read_uj() - before) % (package.range_uj + 1)
                for package, before in zip(self._packages, self._before, strict=True)
            )
            self.watts = joules / _MICROJOULES_PER_JOULE / seconds
        elif readings := [*self._gpu_watts, *self._read_gpu()]:
            self.watts = sum(readings) / len(readings)

    def joules_of(self, latency_ms: float) -> float | None:
        """What a call of that latency took, None where the device reports no power."""
        if not latency_ms >= 0:
            raise InputError(f"power: latency must be >= 0 ms, but got {latency_ms}")
        return None if self.watts is None else self.watts * latency_ms / 1e3

    def _read_gpu(self) -> list[float]:
        if not self._torch_name.startswith("cuda"):
            return []
        import torch

        try:
            return [torch.cuda.power_draw(torch.device(self._torch_name)) / _MILLIWATTS_PER_WATT]
        except (RuntimeError, ImportError, AssertionError):
            # No driver, no NVML, or a device that does not tell.
            return []
