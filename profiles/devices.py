"""The devices of this machine: how a study, torch and the store name each of them."""

import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from profiles.errors import InputError, UnknownNameError
from profiles.hardware import LOCAL_CPU, catalogue, local_cpu

if TYPE_CHECKING:
    import torch

__all__ = ["LocalDevice", "catalogue_name", "local_devices", "resolve_device"]

_CUDA = re.compile(r"cuda(?::(\d+))?")


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalDevice:
    """One device of this machine.

    `name` is what rows of the store carry (`local-cpu`, or the catalogue's name of the GPU), `torch_name` is torch's
    (`cpu`, `cuda:0`), `processor` is what the device calls itself.
    """

    name: str
    torch_name: str
    processor: str
    driver: str = ""

    @property
    def torch_device(self) -> "torch.device":
        """The device as torch knows it."""
        import torch

        return torch.device(self.torch_name)

    @property
    def is_cuda(self) -> bool:
        """Whether work on it is queued by the host and must be waited for."""
        return self.torch_name.startswith("cuda")


def local_devices() -> tuple[LocalDevice, ...]:
    """The processor, then every CUDA device in torch's order.

    Torch's wheels for processors alone, told by their version, know no CUDA: they are not imported for this.
    """
    processor = LocalDevice(name=LOCAL_CPU, torch_name="cpu", processor=local_cpu().title)
    if _is_built_for_processors():
        return (processor,)
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return (processor, *(_cuda_device(index) for index in range(count)))


def _is_built_for_processors() -> bool:
    try:
        return version("torch").endswith("+cpu")
    except PackageNotFoundError:
        return False


def resolve_device(name: str, *, what: str = "device") -> LocalDevice:
    """The local device called `local-cpu`, `cpu`, `cuda`, `cuda:N`, or by the catalogue name of a GPU that is here.

    `what` is the option or key that complaints name.

    Raises:
        InputError: a CUDA device or a catalogue device that this machine does not have.
        UnknownNameError: no such name at all.
    """
    devices = local_devices()
    wanted = LOCAL_CPU if name == "cpu" else name
    if match := _CUDA.fullmatch(wanted):
        wanted = f"cuda:{match[1] or 0}"
    for device in devices:
        if wanted in {device.name, device.torch_name}:
            return device
    here = ", ".join(f"{device.name} ({device.torch_name})" for device in devices)
    if match or wanted in catalogue():
        raise InputError(f"{what}: {name!r} is not on this machine, which has {here}")
    raise UnknownNameError(what, name, [device.name for device in devices])


def catalogue_name(processor: str) -> str:
    """The catalogue name in what a GPU calls itself, e.g. `h200` in `NVIDIA H200`; else its own name in kebab case."""
    words = re.findall(r"[a-z0-9]+", processor.lower())
    known = [name for name, hardware in catalogue().items() if hardware.family == "gpu" and name in words]
    return known[0] if known else "-".join(words)


def _cuda_device(index: int) -> LocalDevice:
    import torch

    processor = torch.cuda.get_device_name(index)
    driver = f"cuda {torch.version.cuda}"
    return LocalDevice(name=catalogue_name(processor), torch_name=f"cuda:{index}", processor=processor, driver=driver)
