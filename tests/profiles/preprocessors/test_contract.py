from collections.abc import Sequence

import pytest

from profiles.preprocessors import Preprocessor, preprocessors
from profiles.preprocessors.testing import PreprocessorContract
from profiles.providers.target import Target
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
