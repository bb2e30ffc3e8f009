from pathlib import Path

import pytest

from profiles.profilers import Figure, Finding, Profiler, ProfilerRun, profilers
from profiles.profilers.kernels import Kernels
from profiles.profilers.kineto import KinetoTraces
from profiles.profilers.memory import Memory
from profiles.profilers.sizes import Sizes
from profiles.testing import ProfilerContract
from profiles.walk.subject import Subject


class TestKernels(ProfilerContract):
    def profiler(self) -> Profiler:
        return Kernels(passes=1)


class TestKinetoTraces(ProfilerContract):
    def profiler(self) -> Profiler:
        return KinetoTraces()


class TestMemory(ProfilerContract):
    def profiler(self) -> Profiler:
        return Memory()


class TestSizes(ProfilerContract):
    def profiler(self) -> Profiler:
        return Sizes()


class Careless:
    """Announces the same twice, gives what it did not announce, writes nothing, and raises at times."""

    name = "careless"
    visits = 0
    needs_folder = False
    figures: tuple[Figure, ...] = (Figure(name="flops", title="FLOPs"),) * 2

    def __init__(self) -> None:
        self.subjects: list[Subject] = []

    def open(self, folder: Path | None) -> "Careless":  # noqa: ARG002 (it writes no files)
        return self

    def start(self, subject: Subject) -> ProfilerRun:
        self.subjects.append(subject)
        if subject.path == "1":
            raise RuntimeError("no")
        return CarelessRun()


class CarelessRun:
    def visit(self) -> None:
        raise AssertionError("is not to be visited")

    def finding(self) -> Finding:
        return Finding(figures={"surprise": 1.0}, artefacts={"trace": "not/there.gz"})


class CarelessContract(ProfilerContract):
    def profiler(self) -> Profiler:
        return Careless()


# Whatever a profiler does to the model, the profile puts it back.
@pytest.mark.parametrize(
    "name",
    [name for name in dir(ProfilerContract) if name.startswith("test_") and name != "test_the_model_is_left_as_it_was"],
)
def test_a_careless_profiler_fails_where_it_is_careless(name: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        getattr(CarelessContract(), name)(tmp_path)


def test_the_built_in_profilers_are_known_by_name() -> None:
    assert set(profilers.names()) >= {"kernels", "kineto", "memory", "sizes"}
    for name in ("kernels", "kineto", "memory", "sizes"):
        assert profilers.get(name)("").name == name
