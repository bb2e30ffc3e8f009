"""Contract tests for result writers: subclass in a test module, and pytest runs them on your implementation."""

from dataclasses import replace
from pathlib import Path

from profiles.errors import StorageError
from profiles.kernel_time import KernelTime
from profiles.model_profile import SELF_KIND, CallProfile, ModelProfile
from profiles.profilers.protocol import Figure
from profiles.records import ComponentProfile, Fingerprint, Latency
from profiles.results.protocol import ResultWriter

__all__ = ["ResultWriterContract", "example_profile"]

_ODD_NAME = '<b>"a\\b/c:d" é=1'


def example_profile() -> ModelProfile:
    """Rows of every provenance and both phases, odd names, figures that are unknown, kernels, calls and notes."""
    latency = Latency(p25_ms=0.9, median_ms=1.0, iqr_ms=0.2, n=9, visits=3, cpu_ms=1.0, wall_over_cpu=1.1)
    root = ComponentProfile(
        path="",
        class_name="Net",
        kind="container",
        spec="{}",
        content_hash="0",
        device="local-cpu",
        batch=4,
        dtype="float32",
        fingerprint=Fingerprint(device="local-cpu", processor="a processor", threads=1, python="3.11"),
        provenance="measured",
        in_situ=latency,
        warm=latency,
        cold=latency,
        flops=1e9,
        bytes_moved=1e6,
        parameter_bytes=4000,
        peak_memory_bytes=10**6,
        figures={"gaps_ms": None},
    )
    part = replace(root, kind="leaf", depth=1, class_name="Linear", figures={"gaps_ms": 0.1}, cold=None)
    rows = (
        root,
        replace(part, path="(self)", kind=SELF_KIND, warm=None),
        replace(part, path="a", artefacts={"trace": "traces/a.json.gz"}),
        replace(part, path="a", phase="backward", in_situ=None),
        replace(part, path="list", provenance="aggregated", reason="never called; summed from its children"),
        replace(part, path="list.0", depth=2, provenance="estimated", mfu=0.5, bandwidth_share=0.25),
        replace(part, path=_ODD_NAME, in_situ=None, warm=None).skipped("never called"),
    )
    kernel = KernelTime(path="a", kernel=_ODD_NAME, device="local-cpu", calls=2.0, milliseconds=0.5)
    return ModelProfile(
        rows=rows,
        profile_seconds=1.5,
        name=_ODD_NAME,
        calls=(CallProfile(path="a", batch="0", signature="(float32[4, 8])", count=2, warm=latency),),
        kernels=(kernel, replace(kernel, path=None)),
        figures=(Figure(name="gaps_ms", title="Gaps (ms)", aggregation="sum"),),
        costs={"capture_seconds": 0.25},
        notes=(f"{_ODD_NAME} was changed",),
    )


class ResultWriterContract:
    """What every `ResultWriter` must hold to.

    class TestMyWriter(ResultWriterContract):
        def writer(self): return MyWriter()
    """

    def writer(self) -> ResultWriter:
        """The writer under test."""
        raise NotImplementedError

    def test_it_has_a_name(self) -> None:
        assert self.writer().name

    def test_what_it_writes_lies_in_the_folder_which_it_makes(self, tmp_path: Path) -> None:
        folder = tmp_path / "new" / "folder"
        written = self.writer().write(example_profile(), folder)
        assert written.exists()
        assert written.is_relative_to(folder)
        assert {path.name for path in tmp_path.iterdir()} == {"new"}

    def test_writing_again_replaces_what_was_there(self, tmp_path: Path) -> None:
        profile = example_profile()
        first = self.writer().write(profile, tmp_path)
        before = _names(tmp_path)
        shorter = replace(profile, rows=profile.rows[:1], calls=(), kernels=(), notes=())
        assert self.writer().write(shorter, tmp_path) == first
        assert len(_names(tmp_path)) <= len(before)

    def test_a_model_that_could_not_be_run_is_written_too(self, tmp_path: Path) -> None:
        root = example_profile().rows[0]
        bare = replace(root, in_situ=None, warm=None, cold=None, flops=None, bytes_moved=None).skipped("it raised")
        assert self.writer().write(ModelProfile(rows=(bare,), profile_seconds=0.0), tmp_path).exists()

    def test_a_folder_that_cannot_be_made_is_a_storage_error(self, tmp_path: Path) -> None:
        blocked = tmp_path / "file"
        blocked.write_text("not a folder")
        try:
            self.writer().write(example_profile(), blocked)
        except StorageError:
            return
        raise AssertionError("a folder that cannot be made must raise StorageError")


def _names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
