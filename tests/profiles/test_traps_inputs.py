"""Trap 1: inputs that are more than positional tensors, and hooks that replace them."""

from typing import Any

import pytest
import torch
from torch import nn

from tests.profiles.trap_models import Features, Opaque, Pair, Passing, Summing, observed, only_call, rows_of

X = torch.ones(2, 4)
WRAPPED: list[tuple[tuple[Any, ...], dict[str, Any], int]] = [
    ((), {"x": X, "y": X + 1}, 2),
    (({"a": X, "b": {"c": [X + 1, X + 2]}},), {}, 3),
    (((X, (X + 1, [X + 2])),), {}, 3),
    ((Pair(X, X + 1),), {}, 2),
    ((Features(X, {"more": X + 1}),), {}, 2),
    ((Opaque(X),), {}, 1),
]


@pytest.mark.parametrize(("args", "kwargs", "tensors"), WRAPPED)
def test_wrapped_inputs_are_captured_counted_and_run_again(
    args: tuple[Any, ...], kwargs: dict[str, Any], tensors: int
) -> None:
    model = Passing(Summing())
    call = only_call(model, "child", *args, **kwargs)
    assert call.signature.count("float32[2, 4]") == tensors
    with torch.no_grad():
        assert torch.equal(call.run(model.child), model(*args, **kwargs))
    rows = rows_of(model, *args, **kwargs)
    assert [rows[path].provenance for path in ("", "child", "child.layer")] == ["measured"] * 3
    assert rows["child"].batch == 2


def test_captured_objects_share_no_memory_with_the_user_s() -> None:
    given = Features(X.clone(), {"more": X + 1})
    call = only_call(Passing(Summing()), "child", given)
    (captured,) = call.args
    captured.dense.zero_()
    captured.more["more"].zero_()
    assert given.dense.eq(1).all()
    assert given.more["more"].eq(2).all()


def test_a_hook_that_replaces_inputs_still_does_so_and_is_not_applied_twice() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(6, 4))
    model[1].register_forward_pre_hook(lambda _module, args: (nn.functional.pad(args[0], (1, 1)),))
    call = only_call(model, "1", X)
    assert call.signature == "(float32[2, 4])"
    with torch.no_grad():
        assert torch.equal(call.run(model[1]), model(X))
    assert rows_of(model, X)["1"].flops == 2 * 2 * 6 * 4


def test_a_hook_that_replaces_outputs_and_one_with_keywords_still_do_so() -> None:
    model = Passing(nn.Linear(4, 4))
    model.child.register_forward_hook(lambda _module, _args, output: output[:1])
    model.register_forward_pre_hook(lambda _module, args, _kwargs: (args, {"input": X * 2}), with_kwargs=True)
    expected = model()
    assert expected.shape == (1, 4)
    call = only_call(model, "child")
    assert call.kwargs["input"].eq(2).all()
    assert torch.equal(call.run(model.child), expected)
    assert torch.equal(model(), expected)


def test_torchrec_s_jagged_tensors_are_seen_into() -> None:
    torchrec = pytest.importorskip("torchrec")
    keys = ["f0", "f1"]
    kjt = torchrec.KeyedJaggedTensor.from_lengths_sync(keys, torch.arange(6), torch.tensor([1, 2, 3, 0]))
    tables = [
        torchrec.EmbeddingBagConfig(name=f"t{key}", embedding_dim=8, num_embeddings=50, feature_names=[key])
        for key in keys
    ]
    model = Passing(torchrec.EmbeddingBagCollection(tables=tables))
    call = only_call(model, "child", kjt)
    assert call.signature == "(KeyedJaggedTensor{values: int64[6], lengths: int64[4]})"
    (captured,) = call.args
    assert captured.keys() == keys
    assert captured.values().data_ptr() != kjt.values().data_ptr()
    with torch.no_grad():
        assert torch.equal(call.run(model.child).values(), model(kjt).values())
    seen = observed(model, kjt)
    assert seen["child.embedding_bags.tf0"].touched_rows == 3
    jagged = kjt["f1"]
    assert only_call(Passing(nn.Identity()), "child", jagged).signature.startswith("(JaggedTensor{values: int64[3]")
