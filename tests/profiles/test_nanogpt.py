import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from profiles.errors import InputError
from profiles.models import NanoGpt, NanoGptConfig, build_nanogpt

SMALL = NanoGptConfig(layers=2, heads=2, width=8, block=6, vocabulary=11)


def small(seed: int = 0) -> NanoGpt:
    return build_nanogpt(SMALL, seed=seed)


def test_the_default_shape_has_gpt2s_parameters() -> None:
    model = build_nanogpt(device="meta")
    assert sum(parameter.numel() for parameter in model.parameters()) == 124_475_904


def test_flops_of_the_default_shape_are_those_of_its_products() -> None:
    model, ids_BT = build_nanogpt(device="meta"), torch.zeros(2, 128, dtype=torch.long, device="meta")
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(ids_BT)
    assert counter.get_total_flops() == 64_474_841_088


def test_the_head_is_tied_to_the_token_table() -> None:
    model = small()
    assert model.lm_head.weight is model.tokens.weight
    assert float(model.lm_head.weight.detach().std()) == pytest.approx(0.02, rel=0.2)


def test_a_token_does_not_see_those_after_it() -> None:
    ids_BT = torch.tensor([[1, 2, 3, 4]])
    changed_BT = torch.tensor([[1, 2, 3, 9]])
    with torch.no_grad():
        before, after = small()(ids_BT), small()(changed_BT)
    assert before.shape == (1, 4, 11)
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.equal(before[:, 3], after[:, 3])


def test_equal_seeds_give_equal_weights() -> None:
    first, second, other = small(1).state_dict(), small(1).state_dict(), small(2).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["tokens.weight"], other["tokens.weight"])


def test_training_drops_out_and_reaches_every_parameter() -> None:
    model, ids_BT = small().train(), torch.tensor([[1, 2, 3]])
    logits_BTV = model(ids_BT)
    assert not torch.equal(logits_BTV, model(ids_BT))
    torch.autograd.backward(logits_BTV.sum())
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_more_tokens_than_positions_are_refused() -> None:
    with pytest.raises(InputError, match="at most 6 tokens, but got 7"):
        small()(torch.zeros(1, 7, dtype=torch.long))


@pytest.mark.parametrize("change", [{"layers": 0}, {"width": 9}])
def test_impossible_shapes_are_refused(change: dict[str, int]) -> None:
    with pytest.raises(InputError, match="must be"):
        NanoGptConfig(**change)
