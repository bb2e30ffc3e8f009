from dataclasses import replace

import pytest
import torch
from torch import nn

from profiles.errors import InputError, MeasurementError
from profiles.preprocessors.batch import BatchSize
from profiles.profile_options import ProfileOptions
from profiles.providers.target import InputBatch, Target
from profiles.walk import profile_target
from tests.profiles.preprocessors.replicas import assert_replicas_are_true, prepared_subjects
from tests.profiles.preprocessors.targets import tagger_target

QUICK = ProfileOptions(seconds_per_visit=1e-4, budget_s=0.0, threads=1)


def test_replicated_calls_are_those_of_a_capture_at_that_size() -> None:
    assert_replicas_are_true(tagger_target(), 24, 4)


def test_replicated_modules_run_alone() -> None:
    for subject in prepared_subjects(tagger_target(), 12, 4).values():
        for call in subject.calls:
            with subject.context(call):
                subject.run(call)


def test_tables_look_up_more_ids_than_were_captured() -> None:
    subject = prepared_subjects(tagger_target(rows=5_000), 64, 4)["table"]
    (call,) = subject.calls
    captured = call.args[0][:4]
    assert len(torch.unique(call.args[0])) > 4 * captured.numel()
    assert subject.figures["touched_rows"] == len(torch.unique(call.args[0]))


def test_a_profile_shows_the_larger_batch_and_says_what_is_of_the_smaller() -> None:
    target = tagger_target()
    assert target.resized
    profile = profile_target(target, options=QUICK, preprocessors=[BatchSize(16, captured=4)])
    expected = profile_target(tagger_target(batch=16), options=QUICK)
    for row, truth in zip(profile.rows, expected.rows, strict=True):
        if row.kind != "self":
            assert (row.flops, row.batch) == (truth.flops, truth.batch), row.path
            # Other ids are drawn than the larger batch has.
            assert row.path in ("", "table") or row.bytes_moved == truth.bytes_moved, row.path
    assert profile.notes == ("batch(16@4): latencies in the model are of 4 samples, all else of 16",)


def test_without_a_size_to_capture_the_model_itself_runs_at_the_new_size() -> None:
    target = BatchSize(10).prepare_target(tagger_target())
    assert target.args[0].shape == (10, 6)


class Masked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.bags = nn.EmbeddingBag(50, 3, mode="sum")

    def forward(
        self, x_TBF: torch.Tensor, mask_TT: torch.Tensor, bags: tuple[torch.Tensor, torch.Tensor]
    ) -> torch.Tensor:
        output_TBF: torch.Tensor = torch.einsum("st,tbf->sbf", mask_TT, self.linear(x_TBF)) + self.bags(*bags)
        return output_TBF


def masked_target() -> Target:
    bags = (torch.arange(9), torch.tensor([0, 2, 5, 5]))
    return Target(
        name="masked", model=Masked(), batches=(InputBatch(args=(torch.rand(5, 4, 3), torch.ones(5, 5), bags)),)
    )


def test_where_nobody_gives_another_size_the_batch_is_found_by_trying() -> None:
    target = BatchSize(12).prepare_target(masked_target())
    x_TBF, mask_TT, (ids_N, offsets_B) = target.args
    assert x_TBF.shape == (5, 12, 3)
    assert mask_TT.shape == (5, 5)
    assert len(ids_N) == 27
    assert offsets_B.tolist() == [0, 2, 5, 5, 9, 11, 14, 14, 18, 20, 23, 23]


def test_found_by_trying_the_given_batch_can_be_captured() -> None:
    prepared = prepared_subjects(masked_target(), 12, 4)
    assert prepared["linear"].calls[0].args[0].shape == (5, 12, 3)


def test_a_batch_that_cannot_be_had_is_refused() -> None:
    with pytest.raises(InputError, match="comes with 4 samples and no other"):
        BatchSize(12, captured=2).prepare_target(masked_target())
    with pytest.raises(InputError, match="comes with 4 samples and no other"):
        BatchSize(10).prepare_target(masked_target())


def test_a_model_that_takes_one_size_only_is_refused() -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.Flatten(0), nn.Linear(8, 1))
    target = Target(name="fixed", model=model, batches=(InputBatch(args=(torch.rand(4, 3),)),))
    with pytest.raises(InputError, match="runs on no inputs twice as many"):
        BatchSize(8).prepare_target(target)


def test_of_several_batches_the_first_is_taken_and_a_note_says_so() -> None:
    target = masked_target()
    two = Target(name="two", model=target.model, batches=target.batches * 2)
    prepared = BatchSize(8).prepare_target(two)
    assert len(prepared.batches) == 1
    assert prepared.notes == ("batch(8): of the first of several batches",)


class ByHalves(nn.Module):
    """Calls its layer in as many ways as there are samples."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
        for samples in range(1, len(x_BF) + 1):
            self.layer(x_BF[:samples])
        return x_BF


def test_a_module_called_otherwise_at_twice_the_batch_says_so() -> None:
    target = Target(name="halves", model=ByHalves(), batches=(InputBatch(args=(torch.rand(2, 3),)),))
    with pytest.raises(MeasurementError, match="called in 2 ways, but in 4 with twice the batch"):
        prepared_subjects(target, 8, 2)


def test_a_backward_pass_gets_the_same_calls_and_no_forward_figures() -> None:
    preprocessor, target = BatchSize(8, captured=4), tagger_target()
    profile = profile_target(
        target, options=replace(QUICK, backward=True, include=("head",)), preprocessors=[preprocessor]
    )
    backward = [row for row in profile.rows if row.phase == "backward" and row.path == "head"]
    assert [row.provenance for row in backward] == ["measured"]


class Once(nn.Linear):
    """Takes four samples, or twelve."""

    def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
        if len(x_BF) == 8:
            raise ValueError("not eight")
        return super().forward(x_BF)


def test_a_model_that_raises_on_twice_its_batch_is_refused() -> None:
    target = Target(
        name="once",
        model=Once(3, 3),
        batches=(InputBatch(),),
        resized=lambda samples: InputBatch(args=(torch.rand(samples, 3),)),
    )
    with pytest.raises(InputError, match="raises on its batch twice over: ValueError: not eight"):
        BatchSize(12, captured=4).prepare_target(target)


@pytest.mark.parametrize("text", ["", "x", "0", "8@3", "8@0", "8@16", "-2"])
def test_sizes_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="batch"):
        BatchSize.from_text(text)


def test_the_name_tells_both_sizes() -> None:
    assert BatchSize.from_text("256@8").name == "batch(256@8)"
    assert BatchSize.from_text("64").name == "batch(64)"


def test_no_row_mixes_the_work_of_two_sizes() -> None:
    options = replace(QUICK, include=("head",))
    profile = profile_target(tagger_target(), options=options, preprocessors=[BatchSize(16, captured=4)])
    truth = {row.path: row for row in profile_target(tagger_target(batch=16), options=QUICK).rows}
    for row in profile.rows:
        expected = truth["head"].flops if row.path == "head" else None
        assert row.flops == expected, row.path
        assert row.path in ("", "head") or row.bytes_moved is None, row.path
        assert "touched_rows" not in row.figures
    assert "bytes moved are a partial sum, without all of" in profile.rows[0].reason
    assert profile.rows[0].bandwidth_share is None


def test_what_modules_do_outside_their_children_is_not_told_of_the_larger_batch() -> None:
    profile = profile_target(tagger_target(), options=QUICK, preprocessors=[BatchSize(16, captured=4)])
    own = [row for row in profile.rows if row.kind == "self" and row.in_situ]
    assert own
    assert {(row.flops, row.mfu) for row in own} == {(None, None)}
    assert all(row.reason.endswith("its FLOPs at the larger batch are not known") for row in own)


def test_backward_rows_carry_nothing_of_the_forward_pass() -> None:
    options = replace(QUICK, backward=True)
    profile = profile_target(tagger_target(), options=options, preprocessors=[BatchSize(16, captured=4)])
    backward = [row for row in profile.modules if row.phase == "backward"]
    assert {row.bytes_moved for row in backward} == {None}
    assert not any("touched_rows" in row.figures for row in backward)
