import pytest
from torch import nn

from profiles.profilers.attribution import BACKWARD_RANGE
from profiles.profilers.kernel_sums import KernelAnalysis, KernelSums
from profiles.profilers.session import Event
from profiles.walk.subject import Phase
from profiles.walk.tree import module_tree
from tests.profiles.profilers.test_attribution import ENGINE, module, op

NODES = module_tree(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
TENSOR_CORES, PLAIN, UNKNOWN = "sm90_xmma_gemm_bf16", "elementwise_kernel", "triton_mm"


def kernel(name: str, start_ms: float, end_ms: float, launched_by: int) -> Event:
    start_ns, end_ns = round(start_ms * 1e6), round(end_ms * 1e6)
    return Event(name=name, start_ns=start_ns, end_ns=end_ns, device="cuda:0", launched_by=launched_by)


# A product and its bias under the first module, a ReLU under the second, an operator in between under the model.
HOST = [
    module(0, 0, 10_000),
    module(1, 100, 3_000), op("aten::addmm", 200, 2_000, correlation=1, sequence=1),
    op("aten::add", 2_500, 2_900, correlation=2),
    op("aten::gelu", 3_500, 4_000, correlation=3),
    module(2, 5_000, 6_000), op("aten::relu", 5_200, 5_900, correlation=4),
]  # fmt: skip
DEVICE = [
    kernel(TENSOR_CORES, 1, 4, 1), kernel(PLAIN, 5, 6, 2), kernel(UNKNOWN, 7, 8, 3), kernel(PLAIN, 8.5, 9, 4),
    kernel("Memcpy HtoD", 20, 21, 99),
]  # fmt: skip


def summed(
    events: list[Event], phase: Phase = "forward", *, device: str = "cuda:0", weight: float = 1.0
) -> KernelAnalysis:
    sums = KernelSums(NODES, passes=1, phase=phase, torch_name=device)
    sums.add(events, weight)
    return sums.analysis()


def test_on_a_gpu_kernels_are_what_is_measured_and_host_time_stands_beside() -> None:
    found = summed([*HOST, *DEVICE])
    assert [(one.path, one.kernel, one.milliseconds) for one in found.kernels[:2]] == [
        ("0", TENSOR_CORES, 3.0),
        ("0", PLAIN, 1.0),
    ]
    assert {path: figures["gpu_time_ms"] for path, figures in found.figures.items()} == {"": 6.5, "0": 4.0, "1": 0.5}
    assert found.figures["0"]["cpu_time_ms"] == pytest.approx(0.0022)


def test_launch_gaps_are_the_idle_time_between_the_first_and_last_kernel_of_a_module() -> None:
    gaps = {path: figures["launch_gap_ms"] for path, figures in summed([*HOST, *DEVICE]).figures.items()}
    assert gaps == {"": pytest.approx(2.5), "0": pytest.approx(1.0), "1": 0.0}


def test_the_share_on_tensor_cores_is_of_the_time_of_kernels_that_tell() -> None:
    figures = summed([*HOST, *DEVICE]).figures
    assert figures["0"]["tensor_core_share"] == 0.75
    assert figures["1"]["tensor_core_share"] == 0.0
    assert figures[""]["tensor_core_share"] == pytest.approx(3 / 5.5)
    uses = {one.kernel: one.uses_tensor_cores for one in summed([*HOST, *DEVICE]).kernels}
    assert (uses[TENSOR_CORES], uses[PLAIN], uses[UNKNOWN]) == (True, False, None)


def test_what_nobody_launched_inside_a_module_is_told() -> None:
    found = summed([*HOST, *DEVICE])
    assert found.attributed_share == pytest.approx(5.5 / 6.5)
    assert found.notes()[0] == "kernels: 15% of the time ran outside all modules"
    assert "aten::gelu 15.4%" in found.notes()[-1]


def test_operators_without_flops_are_named_with_their_share_of_the_time() -> None:
    events = [
        module(0, 0, 10_000), op("recplan_test::strange", 100, 2_500),
        module(2, 3_000, 9_000), op("aten::_softmax", 3_100, 8_600), op("aten::relu", 8_900, 8_950),
    ]  # fmt: skip
    found = summed(events, device="cpu")
    unknown, known = found.notes()
    assert unknown.startswith("kernels: no FLOP formula for recplan_test::strange 30.2% of the time")
    assert known.startswith("kernels: 0 FLOPs by convention for aten::_softmax 69.2%")
    assert "aten::relu" not in known
    assert found.figures["1"]["zero_flops_share"] == 1.0


def test_on_a_cpu_device_figures_are_not_there() -> None:
    figures = summed(HOST, device="cpu").figures["0"]
    assert figures["gpu_time_ms"] is figures["launch_gap_ms"] is figures["tensor_core_share"] is None


def test_a_backward_pass_counts_only_what_is_derived() -> None:
    backward = [
        Event(name=BACKWARD_RANGE, start_ns=20_000, end_ns=40_000, is_range=True),
        op(f"{ENGINE}AddmmBackward0", 21_000, 30_000, sequence=1), op("aten::mm", 22_000, 26_000, correlation=9),
    ]  # fmt: skip
    found = summed([*HOST, *backward, *DEVICE, kernel(TENSOR_CORES, 30, 32, 9)], "backward")
    assert [(one.path, one.milliseconds, one.phase) for one in found.kernels] == [("0", 2.0, "backward")]


def test_calls_count_by_their_weight_and_nothing_at_all_has_no_shares() -> None:
    (relu,) = [one for one in summed(HOST, device="cpu", weight=0.5).kernels if one.kernel == "aten::relu"]
    assert relu.calls == 0.5
    nothing = summed([])
    assert (nothing.attributed_share, nothing.notes()) == (None, ())
