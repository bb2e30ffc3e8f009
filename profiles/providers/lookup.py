"""From the name of a target to the target: one that a provider knows, or a function that the user points to."""

from profiles.errors import InputError, UnknownNameError
from profiles.providers.models import ModelProvider, model_providers
from profiles.providers.target import Target, load_target

__all__ = ["check_target", "find_target", "target_names"]

_WHAT = "target (or package.module:function)"


def target_names() -> dict[str, tuple[str, ...]]:
    """The names of every provider that offers any, by the provider's name; nothing is built."""
    offered = {provider: model_providers.get(provider).names() for provider in model_providers}
    return {provider: names for provider, names in offered.items() if names}


def check_target(name: str) -> None:
    """Refuse a name that no provider knows, without building a model or importing what the user points to.

    Raises:
        InputError: as `find_target`.
    """
    if ":" not in name:
        _provider_of(name)


def find_target(name: str) -> Target:
    """The target that `name` means: `package.module:function`, a provider's `nanogpt`, or `profiles/nanogpt`.

    The last form chooses where several providers offer a model of one name.

    Raises:
        UnknownNameError: nobody knows the name; lists the known ones.
        InputError: several providers know it, or the function cannot be used (see `load_target`).
    """
    if ":" in name:
        return load_target(name)
    provider, model = _provider_of(name)
    return provider.load(model)


def _provider_of(name: str) -> tuple[ModelProvider, str]:
    offered = target_names()
    wanted, _, model = name.rpartition("/")
    found = [provider for provider, names in offered.items() if model in names and wanted in {"", provider}]
    if not found:
        raise UnknownNameError(_WHAT, name, {known for names in offered.values() for known in names})
    if len(found) > 1:
        choices = " or ".join(f"{provider}/{model}" for provider in found)
        raise InputError(f"target {name!r}: several providers have it; ask for {choices}")
    return model_providers.get(found[0]), model
