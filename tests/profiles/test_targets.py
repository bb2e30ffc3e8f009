from pathlib import Path
from typing import Any

import pytest
from torch import nn

from profiles.errors import InputError
from profiles.providers import load_target

SOURCE = """
import torch
from torch import nn
X = torch.ones(2, 3)
NOT_A_FUNCTION = 1
def positional(): return nn.Linear(3, 3), (X,)
def keywords(): return nn.Linear(3, 3), {"input": X}
def both(): return nn.Bilinear(3, 3, 1), ((X,), {"input2": X})
def pair(): return nn.Bilinear(3, 3, 1), (X, X)
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


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("a_target", "must look like package.module:function"),
        (":f", "must look like"),
        ("no_such_module:f", "cannot import 'no_such_module': ModuleNotFoundError"),
        ("a_broken_target:f", "cannot import 'a_broken_target': ZeroDivisionError"),
        ("a_target:nothing", "module 'a_target' has no 'nothing'"),
        ("a_target:NOT_A_FUNCTION", "must be a function, but is a int"),
        ("a_target:no_pair", r"must return \(model, inputs\), but returned a Linear"),
        ("a_target:no_model", "must be a torch.nn.Module, but is a int"),
        ("a_target:bare_input", "but are a Tensor"),
        ("a_target:raising", "the function raised ZeroDivisionError: why"),
    ],
)
def test_complaints_name_the_target(name: str, complaint: str) -> None:
    with pytest.raises(InputError, match=f"target '{name}': .*{complaint}"):
        load_target(name)
