import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from profiles.counting.operator_work import OperatorWork, operator_work

aten = torch.ops.aten


class Seen(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # not annotated in torch
        self.unknown: set[str] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]  # torch's own form
        if operator_work(func) == "unknown":
            self.unknown.add(str(func))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (aten.mm.default, "product"),
        (aten._scaled_dot_product_flash_attention_for_cpu, "product"),
        (aten.view.default, "data"),
        (aten.t_.default, "data"),
        (aten.index_select, "data"),
        (aten.embedding_dense_backward, "data"),
        (aten.relu_, "elementwise"),
        (aten.abs_, "elementwise"),
        (aten.sum.dim_IntList, "elementwise"),
        (aten.native_layer_norm_backward, "elementwise"),
        (aten._foreach_add_, "elementwise"),
        (aten._fused_adam_, "elementwise"),
        (aten._linalg_svd.default, "unknown"),
        (aten.linalg_lu, "unknown"),
    ],
)
def test_an_operator_is_told_by_its_tags_schema_or_name(operator: object, expected: OperatorWork) -> None:
    assert operator_work(operator) == expected


def test_operators_of_other_libraries_are_unknown() -> None:
    with torch.library._scoped_library("recplan_test", "DEF") as library:
        library.define("twice(Tensor x) -> Tensor")
        assert operator_work(torch.ops.recplan_test.twice.default) == "unknown"


def test_common_layers_run_no_unknown_operator() -> None:
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3),
        nn.BatchNorm2d(4),
        nn.GELU(),
        nn.MaxPool2d(2),
        nn.Dropout(),
        nn.Flatten(2),
        nn.TransformerEncoderLayer(9, 3, 8, batch_first=True),
        nn.LSTM(9, 5),
    )
    with Seen() as seen, FlopCounterMode(display=False):
        output, _ = model(torch.rand(2, 3, 8, 8))
        loss = nn.functional.cross_entropy(output.flatten(1), torch.tensor([0, 1]))
        torch.autograd.backward(loss)
        torch.optim.Adam(model.parameters()).step()
    assert seen.unknown == set()
