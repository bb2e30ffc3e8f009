"""Time by kernel under each module, and figures of each module that come of it."""

from pathlib import Path

from profiles.errors import InputError
from profiles.profilers.kernel_analysis import analyse
from profiles.profilers.kernel_sums import KernelAnalysis
from profiles.profilers.option_text import parse_options
from profiles.profilers.protocol import Figure, Finding
from profiles.walk.subject import Subject

__all__ = ["Kernels"]


class Kernels:
    """Time by kernel, and by module: on the host, on the device, gaps between kernels, share on tensor cores.

    Measured in `passes` passes of the whole model, after one that is not; modules alone are not run. The modules keep
    their fast paths. Where the model itself is not among the modules measured, nothing is found.
    """

    name = "kernels"
    visits = 1
    needs_folder = False
    figures: tuple[Figure, ...] = (
        Figure(name="cpu_time_ms", title="Time of operators on the host (ms)", aggregation="sum"),
        Figure(name="gpu_time_ms", title="Time of kernels on the device (ms)", aggregation="sum"),
        Figure(name="launch_gap_ms", title="Device idle between kernels (ms)"),
        Figure(name="tensor_core_share", title="Share of the device's time on tensor cores"),
        Figure(name="zero_flops_share", title="Share of the time in operators that count no FLOPs"),
    )

    def __init__(self, *, passes: int = 3) -> None:
        if passes < 1:
            raise InputError(f"profiler kernels: passes must be >= 1, but got {passes}")
        self.passes = passes

    @classmethod
    def from_text(cls, text: str) -> "Kernels":
        """Of the option `passes`."""
        return cls(**parse_options(cls.name, text, {"passes": int}))

    def open(self, folder: Path | None) -> "_OpenKernels":  # noqa: ARG002 (it writes no files)
        """For one model, whose own run finds everything."""
        return _OpenKernels(self.passes)


class _OpenKernels:
    def __init__(self, passes: int) -> None:
        self._passes = passes
        self._models: dict[str, _ModelRun] = {}

    def start(self, subject: Subject) -> "_ModelRun | _PartRun | None":
        """Everything is found in the model's own run."""
        if subject.is_model:
            self._models[subject.phase] = run = _ModelRun(subject, self._passes)
            return run
        model = self._models.get(subject.phase)
        return _PartRun(subject.path, model) if model else None


class _ModelRun:
    def __init__(self, subject: Subject, passes: int) -> None:
        self._subject, self._passes = subject, passes
        self.analysis: KernelAnalysis | None = None

    def visit(self) -> None:
        self.analysis = analyse(self._subject, self._passes)

    def finding(self) -> Finding:
        if self.analysis is None:
            return Finding()
        found = self.analysis
        return Finding(figures=found.figures[""], kernels=found.kernels, notes=found.notes())


class _PartRun:
    def __init__(self, path: str, model: _ModelRun) -> None:
        self._path, self._model = path, model

    def visit(self) -> None:
        """The model's run has seen it."""

    def finding(self) -> Finding:
        analysis = self._model.analysis
        if analysis is None:
            return Finding()
        if self._path not in analysis.figures:
            return Finding(notes=("kernels: its time is not told apart, what it is in runs as one piece",))
        return Finding(figures=analysis.figures[self._path])
