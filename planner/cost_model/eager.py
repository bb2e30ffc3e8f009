"""What PyTorch runs for a component on an accelerator: kernels launched, and bytes passed by those that nothing fuses.

A hash encoder's integers are one kernel: Triton's on a GPU, and what other accelerators' compilers make of a chain of
element-wise operations. A Gaussian one's floats go through operations of PyTorch after it. Counts of these are of
`representations` modules under a dispatch mode, views left out. Kinds that are not named here are one kernel, or a
formula that counts what it passes already (tensor trains).
"""

from profiles.component import Component

__all__ = ["launches_of", "unfused_bytes"]

_KERNELS_OF_HASHES = 1
_KERNELS_OF_GAUSSIAN = 9
_KERNELS_OF_DOT = 7
_KERNELS_OF_FM = 6
_KERNELS_OF_IDS = {"id_split": 3, "id_map": 2}
_KERNELS_OF_ROBE = 11
_KERNELS_PER_CORE, _KERNELS_LESS = 5, 4
# Per hash, eleven floats read or written.
_BYTES_OF_GAUSSIAN = 11 * 4
# Quotient, product and remainder: seven 64-bit integers read or written.
_BYTES_PER_SPLIT = 7 * 8
# An id and its 32-bit row number, read and written, and that number made a 64-bit integer.
_BYTES_PER_MAPPED = 8 + 4 + 4 + 4 + 8


def launches_of(component: Component) -> int:
    """Kernels that a forward pass launches."""
    if component.kind == "dhe_encoder":
        return _KERNELS_OF_HASHES + _KERNELS_OF_GAUSSIAN * _is_gaussian(component)
    if component.kind == "interaction" and component["function"] in ("dot", "torchrec_dot"):
        return _KERNELS_OF_DOT
    if component.kind == "interaction" and component["function"] in ("fm", "torchrec_fm"):
        return _KERNELS_OF_FM
    if component.kind == "tensor_train":
        return _KERNELS_PER_CORE * int(component["cores"]) - _KERNELS_LESS
    if component.kind == "robe":
        return _KERNELS_OF_ROBE + _cuts_a_block(component)
    return _KERNELS_OF_IDS.get(component.kind, 1)


def unfused_bytes(component: Component, fused_bytes: float) -> float:
    """Bytes that the kernels move one after another; `fused_bytes` where the component is a single kernel."""
    if component.kind == "robe":
        return float(component.batch * _bytes_per_robe_id(component))
    if component.kind == "id_split":
        return float(component.batch * _BYTES_PER_SPLIT)
    if component.kind == "id_map":
        return float(component.batch * _BYTES_PER_MAPPED)
    if component.kind == "dhe_encoder" and _is_gaussian(component):
        return fused_bytes + float(component.batch * int(component["k"]) * _BYTES_OF_GAUSSIAN)
    return fused_bytes


def _bytes_per_robe_id(component: Component) -> int:
    """64-bit integers: four per id, six per block, one per place of a whole block and one per float; the floats twice.

    A last block that is cut makes the places be copied.
    """
    dim, block = int(component["dim"]), int(component["block"])
    blocks = -(-dim // block)
    copied = 2 * dim if _cuts_a_block(component) else 0
    return 8 * (4 + 6 * blocks + blocks * block + copied + dim) + 8 * dim


def _cuts_a_block(component: Component) -> bool:
    return int(component["dim"]) % int(component["block"]) > 0


def _is_gaussian(component: Component) -> bool:
    return component["transform"] == "gaussian"
