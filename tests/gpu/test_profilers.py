from pathlib import Path

import pytest
import torch
from torch import nn

from profiles.plug_ins import named_profilers
from profiles.profile_options import ProfileOptions
from profiles.walk import profile_model

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def test_memory_kernels_and_traces_of_a_device(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(1024, 1024), nn.GELU(), nn.Linear(1024, 64)).cuda().half()
    x_BF = torch.randn(2048, 1024, device="cuda", dtype=torch.half)
    options = ProfileOptions(budget_s=0.0, backward=True, folder=tmp_path)
    profile = profile_model(
        model, (x_BF,), options=options, profilers=named_profilers(["memory", "kernels", "kineto"], tmp_path)
    )
    rows = {(row.path, row.phase): row for row in profile.modules}
    forward = rows["", "forward"]
    # The hidden layer before and after its activation, kept for the backward pass, and what the allocator rounds up.
    assert forward.peak_memory_bytes is not None
    assert forward.peak_memory_bytes >= 2 * 2048 * 1024 * 2
    assert forward.figures["tensor_core_share"]
    assert forward.figures["gpu_time_ms"]
    assert forward.figures["launch_gap_ms"] is not None
    for phase in ("forward", "backward"):
        kernels = [kernel for kernel in profile.kernels if kernel.phase == phase]
        outside_ms = sum(kernel.milliseconds for kernel in kernels if kernel.path is None)
        assert outside_ms <= 0.05 * sum(kernel.milliseconds for kernel in kernels)
        assert {kernel.device for kernel in kernels} == {"cuda:0"}
    for row in (forward, rows["0", "forward"]):
        assert all((tmp_path / row.artefacts[title]).is_file() for title in ("trace", "memory snapshot"))
