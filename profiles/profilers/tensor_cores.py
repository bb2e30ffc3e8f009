"""Which kernels use tensor cores, by their names: libraries put the instruction, or its shape, into them."""

__all__ = ["uses_tensor_cores"]

# cuBLAS, cuDNN and CUTLASS by architecture: Volta (h884), Turing (1688), Ampere and later (16816, 16832, tensorop),
# integers (imma, i8816), Hopper and later (wgmma, gmma, nvjet); fused attention kernels are built on the same.
_MARKS = (
    "h884",
    "s884",
    "1688",
    "16816",
    "16832",
    "i8816",
    "hmma",
    "imma",
    "bmma",
    "gmma",
    "tensorop",
    "tensor_op",
    "xmma_",
    "nvjet",
    "flash_fwd",
    "flash_bwd",
    "fmha",
    "_sdpa_",
)
# What a compiler or a user has written may or may not use them.
_UNKNOWN = ("triton_", "cutlass_")


def uses_tensor_cores(kernel: str) -> bool | None:
    """Whether a CUDA kernel of this name does, None where its name does not tell."""
    name = kernel.lower()
    if any(mark in name for mark in _MARKS):
        return True
    return None if name.startswith(_UNKNOWN) else False
