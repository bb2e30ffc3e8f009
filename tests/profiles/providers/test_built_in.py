from profiles.providers import BuiltInModels, ModelProvider, find_target
from profiles.testing import ModelProviderContract


class TestBuiltInModels(ModelProviderContract):
    def provider(self) -> ModelProvider:
        return BuiltInModels()

    def tried(self) -> tuple[str, ...]:
        # Half a gigabyte each time; the shape is tried small elsewhere.
        return ()


def test_nanogpt_gets_two_sequences_of_128_tokens() -> None:
    target = find_target("nanogpt")
    (ids_BT,) = target.args
    assert ids_BT.shape == (2, 128)
    assert target.resized is not None
    assert target.resized(5).args[0].shape == (5, 128)
    assert not target.model.training
