import subprocess
import sys

from profiles.providers import ModelProvider, model_providers
from profiles.testing import ModelProviderContract
from representations import RecommendationModels
from representations.presets import model_presets


class TestRecommendationModels(ModelProviderContract):
    def provider(self) -> ModelProvider:
        return RecommendationModels()

    def tried(self) -> tuple[str, ...]:
        return ("dlrm-flights", "torchrec-dlrm")


def test_every_preset_is_offered_beside_torchrecs_models() -> None:
    names = RecommendationModels().names()
    assert set(names) == {*model_presets.names(), "deepfm", "torchrec-dlrm"}
    assert isinstance(model_providers.get("representations"), RecommendationModels)


def test_names_are_told_without_loading_torch() -> None:
    script = (
        "import sys; from representations import RecommendationModels as M; M().names(); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
