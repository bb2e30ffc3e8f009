from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from profiles.providers import Target
from representations.presets import get_preset
from representations.target import build_target
from representations.torchrec_models import TorchrecModel, deepfm, dlrm, torchrec_target

pytest.importorskip("torchrec")


def small(model: TorchrecModel) -> Target:
    return torchrec_target(model, budget_bytes=1_000_000)


def flops_of(target: Target) -> int:
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        target.model(*target.args)
    return int(counter.get_total_flops())


def test_torchrecs_dlrm_has_the_flops_of_ours() -> None:
    assert flops_of(small(dlrm())) == 1_192_919_040


def test_torchrecs_deepfm_has_the_flops_of_ours() -> None:
    ours = build_target(get_preset("deepfm-bench"), budget_bytes=1_000_000, batch=16)
    torchrecs = torchrec_target(deepfm(), budget_bytes=1_000_000, batch=16)
    assert flops_of(torchrecs) == flops_of(ours) == 6_845_628_928 // 16


def test_deepfm_has_the_papers_four_modules_and_dense_part() -> None:
    target = small(replace(deepfm(), features=deepfm().features[:3]))
    assert [name for name, _ in target.model.named_children()] == [
        "sparse_arch", "dense_arch", "inter_arch", "over_arch",
    ]  # fmt: skip
    dense = target.model.get_submodule("dense_arch.model")
    shapes = [tuple(parameter.shape) for name, parameter in dense.named_parameters() if name.endswith("weight")]
    assert shapes == [(4096, 1024), (512, 4096)]
    assert "inter_arch.deep_fm" in dict(target.model.named_modules())


def test_deepfms_tables_are_cut_and_their_true_bytes_kept() -> None:
    target = small(replace(deepfm(), features=deepfm().features[:3]))
    true = target.true_parameter_bytes
    assert true["sparse_arch"] == (1460 + 583 + 10_131_227) * 512 * 4
    assert true[""] - true["sparse_arch"] == sum(
        tensor.nbytes for name, tensor in target.model.state_dict().items() if "sparse_arch" not in name
    )
    assert target.notes


def test_bags_hold_as_many_ids_as_the_model_says() -> None:
    _, fixed = small(dlrm()).args
    assert set(fixed.lengths().tolist()) == {10}
    assert fixed.keys() == [f"C{i + 1}" for i in range(26)]
    target = small(replace(deepfm(), features=deepfm().features[:2]))
    _, varying = target.args
    assert {0, 20} < set(varying.lengths().tolist())
    assert target.resized is not None
    assert target.resized(5).args[1].stride() == 5
