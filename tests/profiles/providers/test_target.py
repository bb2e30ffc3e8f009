from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from profiles.errors import InputError
from profiles.providers import InputBatch, Target, load_target

SOURCE = """
import torch
from torch import nn
from profiles import InputBatch, Target
X = torch.ones(2, 3)
NOT_A_FUNCTION = 1
def positional(): return nn.Linear(3, 3), (X,)
def keywords(): return nn.Linear(3, 3), {"input": X}
def both(): return nn.Bilinear(3, 3, 1), ((X,), {"input2": X})
def pair(): return nn.Bilinear(3, 3, 1), (X, X)
def batches(): return nn.Linear(3, 3), [(X,), {"input": X[:1]}, InputBatch(args=(X,), weight=2.0)]
def whole(): return Target(name="mine", model=nn.Linear(3, 3), batches=(InputBatch(args=(X,)),))
def no_batches(): return nn.Linear(3, 3), []
def bad_batch(): return nn.Linear(3, 3), [(X,), X]
def no_pair(): return nn.Linear(3, 3)
def no_model(): return 1, (X,)
def bare_input(): return nn.Linear(3, 3), X
def raising(): raise ZeroDivisionError("why")
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a_target.py").write_text(SOURCE)
    (tmp_path / "a_broken_target.py").write_text("1 / 0")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.parametrize("name", ["positional", "keywords", "both", "pair"])
def test_inputs_are_positional_keywords_or_both(name: str) -> None:
    target = load_target(f"a_target:{name}")
    output: Any = target.model(*target.args, **target.kwargs)
    assert isinstance(target.model, nn.Module)
    assert output.shape[0] == 2


def test_several_batches_are_a_list() -> None:
    target = load_target("a_target:batches")
    assert [len(batch.args) for batch in target.batches] == [1, 0, 1]
    assert [batch.weight for batch in target.batches] == [1.0, 1.0, 2.0]


def test_a_function_may_give_the_whole_target() -> None:
    assert load_target("a_target:whole").name == "mine"


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("a_target", "must look like package.module:function"),
        (":f", "must look like"),
        ("no_such_module:f", "cannot import 'no_such_module': ModuleNotFoundError"),
        ("a_broken_target:f", "cannot import 'a_broken_target': ZeroDivisionError"),
        ("a_target:nothing", "module 'a_target' has no 'nothing'"),
        ("a_target:NOT_A_FUNCTION", "must be a function, but is a int"),
        ("a_target:no_pair", r"must return \(model, inputs\) or a Target, but returned a Linear"),
        ("a_target:no_model", "must be a torch.nn.Module, but is a int"),
        ("a_target:bare_input", "inputs must be a tuple.*but got a Tensor"),
        ("a_target:no_batches", "must have at least one batch"),
        ("a_target:bad_batch", "batch 1 must be a tuple.*but got a Tensor"),
        ("a_target:raising", "the function raised ZeroDivisionError: why"),
    ],
)
def test_complaints_name_the_target(name: str, complaint: str) -> None:
    with pytest.raises(InputError, match=f"target '{name}': .*{complaint}"):
        load_target(name)


def test_a_bare_tensor_is_no_tuple_of_arguments() -> None:
    bare: Any = torch.ones(1, 3)
    with pytest.raises(InputError, match="batch: args must be a tuple, but got a Tensor"):
        InputBatch(args=bare)
    with pytest.raises(InputError, match="batch 'b': kwargs must be a dict, but got a Tensor"):
        InputBatch(kwargs=bare, label="b")


def test_a_model_is_a_module() -> None:
    function: Any = torch.relu
    with pytest.raises(InputError, match=r"the model must be a torch\.nn\.Module"):
        Target(name="relu", model=function)
