"""Trap 3: fused paths of attention, which hooks would switch off and public counters count as 0."""

import pytest
import torch
from torch import nn

from profiles.walk import profile_model
from tests.profiles.trap_models import QUICK, Passing, by_path, observed, rows_of

BATCH, LENGTH, WIDTH, HEADS, HIDDEN = 2, 5, 16, 2, 32
X = torch.ones(BATCH, LENGTH, WIDTH)
PROJECTIONS = 4 * 2 * BATCH * LENGTH * WIDTH * WIDTH
SQUARE = 2 * 2 * BATCH * LENGTH * LENGTH * WIDTH
FEED_FORWARD = 2 * 2 * BATCH * LENGTH * WIDTH * HIDDEN
PASSED_BY = "in the model it is passed by on a fused path, or after an error: seen and measured outside of it"


def encoder() -> nn.Module:
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, batch_first=True)
    return nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).eval()


def attention(*, is_training: bool) -> nn.Module:
    return nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).train(is_training)


@pytest.mark.parametrize("is_training", [False, True])
def test_attention_has_the_flops_of_the_formula(is_training: bool) -> None:
    row = rows_of(Passing(attention(is_training=is_training)), X, X, X)["child"]
    assert row.flops == PROJECTIONS + SQUARE
    assert row.bytes_moved == 2 * X.numel() * 4 + 4 * (4 * WIDTH * WIDTH + 4 * WIDTH) + 4 * BATCH * LENGTH * LENGTH


def test_an_encoder_has_the_flops_of_the_formula_and_stays_on_its_fast_path() -> None:
    model, fused = encoder(), "aten::_transformer_encoder_layer_fwd"
    with torch.profiler.profile() as seen:
        profile = profile_model(model, (X,), options=QUICK)
    rows = by_path(profile)
    assert rows["layers.0"].flops == rows[""].flops == PROJECTIONS + SQUARE + FEED_FORWARD
    passes = sum(event.count for event in seen.key_averages() if event.key == fused)
    assert passes >= 3 * (2 + 2 + 1)  # of each visit: in the model with and without timers, alone: model, layer


def test_what_the_fast_path_passes_by_is_measured_alone_and_says_so() -> None:
    profile = profile_model(encoder(), (X,), options=QUICK)
    rows = by_path(profile)
    for path in ("layers.0.self_attn", "layers.0.linear1", "layers.0.dropout"):
        assert rows[path].provenance == "measured"
        assert rows[path].in_situ is None
        assert rows[path].reason.startswith(PASSED_BY)
    assert rows["layers.0.self_attn.out_proj"].provenance == "skipped"
    assert rows["layers.0.linear1"].flops == FEED_FORWARD / 2
    (note,) = profile.notes
    assert note.startswith("compiled modules and fused paths were taken apart once")
    assert "8 modules have no time in the model: layers.0" in note


def test_in_training_the_layers_are_seen_where_they_stand() -> None:
    rows = rows_of(encoder().train(), X)
    assert rows["layers.0.linear1"].in_situ is not None
    assert rows["layers.0.linear1"].reason == ""


def test_the_switch_of_the_fast_path_is_left_as_it_was() -> None:
    try:
        for is_on in (False, True):
            torch.backends.mha.set_fastpath_enabled(is_on)
            observed(encoder(), X)
            assert torch.backends.mha.get_fastpath_enabled() is is_on
    finally:
        torch.backends.mha.set_fastpath_enabled(True)


def test_padded_sequences_are_counted_in_full() -> None:
    mask = torch.zeros(BATCH, LENGTH, dtype=torch.bool)
    mask[0, 3:] = True
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, batch_first=True)
    seen = observed(nn.TransformerEncoder(layer, 1).eval(), X, src_key_padding_mask=mask)
    assert seen[""].flops == PROJECTIONS + SQUARE + FEED_FORWARD
    assert seen[""].failure == ""
