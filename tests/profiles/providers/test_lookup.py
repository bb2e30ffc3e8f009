import pytest
import torch
from torch import nn

from profiles.errors import InputError, UnknownNameError
from profiles.providers import InputBatch, ModelProvider, Target, check_target, find_target, model_providers
from profiles.providers.lookup import target_names
from profiles.testing import ModelProviderContract


class Others:
    """Has a `nanogpt` of its own."""

    def names(self) -> tuple[str, ...]:
        return ("nanogpt", "tiny")

    def load(self, name: str) -> Target:
        if name not in self.names():
            raise UnknownNameError("model", name, self.names())
        with torch.random.fork_rng():
            torch.manual_seed(0)
            model = nn.Linear(2, 1)
        return Target(name=name, model=model, batches=(InputBatch(args=(torch.ones(2, 2),)),))


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> Others:
    provider = Others()
    monkeypatch.setitem(model_providers._entries, "others", provider)
    return provider


def test_a_name_is_found_at_the_provider_that_has_it(others: Others) -> None:
    assert others.names() == target_names()["others"]
    assert find_target("tiny").name == "tiny"


@pytest.mark.usefixtures("others")
def test_a_name_that_two_providers_have_must_say_which() -> None:
    with pytest.raises(InputError, match="ask for others/nanogpt or profiles/nanogpt"):
        check_target("nanogpt")
    assert isinstance(find_target("others/nanogpt").model, nn.Linear)


@pytest.mark.parametrize("name", ["nanogtp", "profiles/dlrm-kaggle", "nobody/nanogpt", ""])
def test_an_unknown_name_lists_the_known_ones(name: str) -> None:
    with pytest.raises(UnknownNameError, match=r"target \(or package.module:function\): unknown.*known: .*nanogpt"):
        find_target(name)


def test_installed_packages_bring_their_models() -> None:
    assert "dlrm-kaggle" in target_names()["representations"]


def test_checking_a_function_does_not_call_it() -> None:
    check_target("no_such_module:function")


class TestOthers(ModelProviderContract):
    def provider(self) -> ModelProvider:
        return Others()
