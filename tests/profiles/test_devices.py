import pytest
import torch

from profiles.devices import catalogue_name, local_devices, resolve_device
from profiles.errors import InputError, UnknownNameError


def test_the_processor_comes_first() -> None:
    first = local_devices()[0]
    assert (first.name, first.torch_name, first.is_cuda) == ("local-cpu", "cpu", False)
    assert first.torch_device == torch.device("cpu")


@pytest.mark.parametrize("name", ["cpu", "local-cpu"])
def test_the_processor_has_two_names(name: str) -> None:
    assert resolve_device(name) == local_devices()[0]


@pytest.mark.parametrize("name", ["cuda:99", "tpuv3-chip"])
def test_a_device_that_is_not_here_is_bad_input(name: str) -> None:
    with pytest.raises(InputError, match=f"device: '{name}' is not on this machine, which has local-cpu"):
        resolve_device(name)


def test_an_unknown_device_lists_what_is_here() -> None:
    with pytest.raises(UnknownNameError, match="local-cpu"):
        resolve_device("abacus")


@pytest.mark.parametrize(
    ("processor", "name"),
    [
        ("NVIDIA H200", "h200"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("Tesla V100-PCIE-32GB", "v100"),
        ("NVIDIA A100-SXM4-40GB", "a100"),
        ("NVIDIA GeForce RTX 4090", "nvidia-geforce-rtx-4090"),
    ],
)
def test_a_gpu_is_found_in_the_catalogue_by_what_it_calls_itself(processor: str, name: str) -> None:
    assert catalogue_name(processor) == name
