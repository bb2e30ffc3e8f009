from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from profiles.counting.traffic import state_bytes
from profiles.errors import InputError
from profiles.preprocessors.rows import CutRows
from profiles.providers.target import InputBatch, Target
from tests.profiles.preprocessors.targets import tagger_target


class Bags(nn.Module):
    """Ids of two features, by column copied or seen, and ids computed inside."""

    def __init__(self, rows: int = 100) -> None:
        super().__init__()
        self.seen = nn.Embedding(rows, 2)
        self.copied = nn.EmbeddingBag(rows, 2, mode="sum", max_norm=1.0)
        self.computed = nn.Embedding(rows, 2)
        self.small = nn.Embedding(5, 2)

    def forward(self, ids_BS: torch.Tensor, offsets_B: torch.Tensor) -> torch.Tensor:
        seen, copied = self.seen(ids_BS[:, 0]), self.copied(input=ids_BS[:, 1].clone(), offsets=offsets_B)
        output_BD: torch.Tensor = seen + copied + self.computed(input=ids_BS[:, 0] // 2 + 50) + self.small(offsets_B)
        return output_BD


def target_of(model: nn.Module, *args: torch.Tensor) -> Target:
    return Target(name="target", model=model, batches=(InputBatch(args=args),))


def bags_target() -> Target:
    return target_of(Bags(), torch.tensor([[7, 99], [40, 63], [91, 20]]), torch.tensor([0, 1, 2]))


def table(target: Target, path: str) -> Any:
    return target.model.get_submodule(path)


def test_tables_are_cut_to_a_view_of_their_first_rows() -> None:
    original = tagger_target()
    cut = CutRows(20).prepare_target(original)
    assert table(cut, "table").num_embeddings == 20
    assert table(cut, "table").weight.data_ptr() == table(original, "table").weight.data_ptr()
    assert state_bytes(table(cut, "table")) == 20 * 8 * 4
    assert table(original, "table").num_embeddings == 50


def test_true_bytes_are_kept_for_the_table_and_all_that_hold_it() -> None:
    original = bags_target()
    cut = CutRows(20).prepare_target(original)
    assert cut.true_parameter_bytes == {
        path: state_bytes(original.model.get_submodule(path)) for path in ("", "seen", "copied", "computed")
    }


def test_ids_are_taken_modulo_in_the_inputs() -> None:
    cut = CutRows(20).prepare_target(tagger_target())
    assert torch.equal(cut.args[0], tagger_target().args[0] % 20)
    assert cut.resized
    assert int(cut.resized(30).args[0].max()) < 20


def test_ids_that_are_computed_are_taken_modulo_in_the_call_and_a_note_says_so() -> None:
    cut = CutRows(20).prepare_target(bags_target())
    assert cut.notes == ("rows(20): computed takes ids modulo 20 in its call, which takes time",)
    assert cut.args[0].tolist() == [[7, 19], [0, 3], [11, 0]]
    assert cut.args[1].tolist() == [0, 1, 2]
    assert cut.model(*cut.args).shape == (3, 2)


def test_tables_that_write_their_rows_get_their_own() -> None:
    original = bags_target()
    cut = CutRows(20).prepare_target(original)
    assert table(cut, "copied").weight.data_ptr() != table(original, "copied").weight.data_ptr()


def test_padding_stays_within_the_table() -> None:
    model = nn.Embedding(50, 2, padding_idx=45)
    cut = CutRows(20).prepare_target(target_of(model, torch.tensor([45, 3])))
    assert table(cut, "").padding_idx == 5
    assert table(cut, "").weight.shape == (20, 2)


class Tied(nn.Module):
    def __init__(self, *, is_known: bool) -> None:
        super().__init__()
        self.table = nn.Embedding(50, 4)
        if is_known:
            self.head = nn.Linear(4, 50, bias=False)
            self.head.weight = self.table.weight

    def forward(self, ids_B: torch.Tensor) -> torch.Tensor:
        return functional.linear(self.table(ids_B), self.table.weight)


def test_a_table_whose_weight_another_module_has_stays_as_it_is() -> None:
    target = target_of(Tied(is_known=True), torch.arange(3))
    cut = CutRows(20).prepare_target(target)
    assert cut.model is target.model
    assert cut.notes == (
        "rows(20): table stays as it is, other modules share its weight",
        "rows(20): no other table has more rows",
    )


def test_a_table_that_is_used_elsewhere_is_refused() -> None:
    with pytest.raises(InputError, match="tables are used elsewhere too"):
        CutRows(20).prepare_target(target_of(Tied(is_known=False), torch.arange(3)))


def test_a_model_that_needs_its_rows_is_refused() -> None:
    class Picky(nn.Embedding):
        def forward(self, ids_B: torch.Tensor) -> torch.Tensor:
            return super().forward(ids_B) + self.weight[30]

    with pytest.raises(InputError, match="the model raises: IndexError"):
        CutRows(20).prepare_target(target_of(Picky(50, 4), torch.arange(3)))


def test_where_all_tables_are_short_a_note_says_so() -> None:
    target = tagger_target()
    cut = CutRows(50).prepare_target(target)
    assert cut.model is target.model
    assert cut.notes == ("rows(50): no table has more rows",)


@pytest.mark.parametrize("text", ["", "0", "many"])
def test_a_number_of_rows_is_wanted(text: str) -> None:
    with pytest.raises(InputError, match="preprocessor rows: must be"):
        CutRows.from_text(text)


def test_rows_below_one_are_refused() -> None:
    with pytest.raises(InputError, match="rows: must be >= 1, but got -1"):
        CutRows(-1)
