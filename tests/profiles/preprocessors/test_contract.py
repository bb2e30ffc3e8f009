from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch

from profiles.preprocessors import Preprocessor, preprocessors
from profiles.preprocessors.protocol import Stage
from profiles.profilers.protocol import Figure
from profiles.providers.target import InputBatch, Target
from profiles.testing import PreprocessorContract
from profiles.walk.subject import Subject
from tests.profiles.preprocessors.targets import net_target, tagger_target, two_layers


class OnSmallModels(PreprocessorContract):
    text = ""

    def preprocessor(self) -> Preprocessor:
        name, _, option = self.text.partition("=")
        return preprocessors.get(name)(option)

    def targets(self) -> Sequence[Target]:
        return [net_target(), tagger_target()]


class TestAutocast(OnSmallModels):
    text = "autocast=bfloat16"


class TestTf32(OnSmallModels):
    text = "tf32"


class TestDtype(OnSmallModels):
    text = "dtype=float64"

    def targets(self) -> Sequence[Target]:
        return [tagger_target()]


class TestBatch(OnSmallModels):
    text = "batch=8"


class TestReplicatedBatch(OnSmallModels):
    text = "batch=8@4"


class TestRows(OnSmallModels):
    text = "rows=20"


@pytest.mark.slow
class TestCompile(OnSmallModels):
    text = "compile=model"

    def targets(self) -> Sequence[Target]:
        return [two_layers()]


class Careless:
    """Shuffles modules' flags and weights, fails on other sizes, gives a figure that it does not name."""

    name = "careless+"
    figures: tuple[Figure, ...] = ()
    stage: Stage = "change"

    def prepare_target(self, target: Target) -> Target:
        target.args[0].add_(1)
        return replace(target, resized=lambda _: InputBatch())

    def prepare_subject(self, subject: Subject) -> Subject:
        if subject.is_model:
            raise ValueError("no model")
        return replace(subject, figures={"care": 1.0})

    @contextmanager
    def context(self) -> Iterator[None]:
        torch.set_default_dtype(torch.float64)
        yield
        torch.set_default_dtype(torch.float32)


class CarelessContract(PreprocessorContract):
    def preprocessor(self) -> Preprocessor:
        return Careless()

    def targets(self) -> Sequence[Target]:
        return [replace(two_layers(), resized=lambda samples: InputBatch(args=(torch.rand(samples, 4),)))]


@pytest.mark.parametrize("name", [name for name in dir(PreprocessorContract) if name.startswith("test_")])
def test_a_careless_preprocessor_fails_in_every_point(name: str) -> None:
    try:
        with pytest.raises((AssertionError, TypeError)):
            getattr(CarelessContract(), name)()
    finally:
        torch.set_default_dtype(torch.float32)
