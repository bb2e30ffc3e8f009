import torch
from torch import nn
from torch.nn import functional

from representations.dhe.mish import Mish


def test_it_equals_torch_forward_and_backward() -> None:
    ours = torch.randn(50, 7, generator=torch.Generator().manual_seed(0)).mul_(4).requires_grad_()
    theirs = ours.detach().clone().requires_grad_()
    for x, module in ((ours, Mish()), (theirs, nn.Mish())):
        torch.autograd.backward(module(x).square().sum())
    assert torch.allclose(Mish()(ours), functional.mish(theirs), atol=1e-6)
    assert ours.grad is not None
    assert theirs.grad is not None
    assert torch.allclose(ours.grad, theirs.grad, rtol=1e-5, atol=1e-5)


def test_what_the_kernel_cannot_take_goes_to_torch() -> None:
    for x in (torch.ones(4, 3).t(), torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.bfloat16)):
        assert torch.equal(Mish()(x), functional.mish(x))
