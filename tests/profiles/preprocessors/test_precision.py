from typing import Any

import pytest
import torch
from torch import nn

from profiles.errors import InputError
from profiles.preprocessors.precision import Autocast, Tf32
from profiles.profile_options import ProfileOptions
from profiles.providers.target import InputBatch, Target
from profiles.walk import profile_target
from tests.profiles.preprocessors.targets import two_layers

QUICK = ProfileOptions(seconds_per_visit=1e-4, budget_s=0.0, threads=1)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_under_autocast_products_have_the_lower_precision(dtype: str) -> None:
    with Autocast(dtype).context():
        assert two_layers().model(torch.rand(3, 4)).dtype is getattr(torch, dtype)


def test_under_autocast_the_second_module_gets_what_the_first_gave() -> None:
    profile = profile_target(two_layers(), options=QUICK, preprocessors=[Autocast("bfloat16")])
    assert [call.signature.split("[")[0] for call in profile.calls] == ["(float32", "(float32", "(bfloat16"]


def test_an_unknown_precision_names_the_known_ones() -> None:
    with pytest.raises(InputError, match="autocast: must be one of bfloat16, float16, but got 'int8'"):
        Autocast.from_text("int8")


def test_tf32_turns_all_switches_on() -> None:
    with Tf32().context():
        assert torch.backends.cuda.matmul.allow_tf32
        assert torch.backends.cudnn.allow_tf32
        assert torch.get_float32_matmul_precision() == "high"


def test_tf32_leaves_the_older_switches_readable() -> None:
    before = torch.get_float32_matmul_precision()
    with Tf32().context():
        pass
    assert torch.get_float32_matmul_precision() == before
    assert torch.backends.cuda.matmul.allow_tf32 is (before != "highest")


def test_tf32_is_put_over_the_newer_switches_too() -> None:
    matmul: Any = torch.backends.cuda.matmul
    before, matmul.fp32_precision = matmul.fp32_precision, "tf32"
    try:
        with Tf32().context():
            assert matmul.fp32_precision == "tf32"
        assert matmul.fp32_precision == "tf32"
    finally:
        matmul.fp32_precision = before


def test_tf32_says_where_it_changes_nothing() -> None:
    assert Tf32().prepare_target(two_layers()).notes == ("tf32: nothing is on a CUDA device, so it changes nothing",)


def test_tf32_takes_no_option() -> None:
    with pytest.raises(InputError, match="tf32: takes no option, but got 'x'"):
        Tf32.from_text("x")


@pytest.mark.parametrize(("dtype", "expected"), [(torch.float32, "bfloat16"), (torch.float64, "float64")])
def test_rows_have_the_type_in_which_products_run_under_autocast(dtype: torch.dtype, expected: str) -> None:
    target = Target(
        name="one", model=nn.Linear(4, 4, dtype=dtype), batches=(InputBatch(args=(torch.rand(2, 4, dtype=dtype),)),)
    )
    (row,) = profile_target(target, options=QUICK, preprocessors=[Autocast("bfloat16")]).rows
    assert row.dtype == expected


def test_autocast_goes_before_tf32_which_is_for_cuda_devices_alone() -> None:
    target = Tf32().prepare_target(Autocast("bfloat16").prepare_target(two_layers()))
    assert target.compute_dtypes["float32"] == "bfloat16"
    assert not Tf32().prepare_target(two_layers()).compute_dtypes
