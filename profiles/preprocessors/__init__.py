"""What is done to a model before it is profiled: precision, compilation, batch size, rows of tables."""

from collections.abc import Callable
from importlib import import_module

from profiles.preprocessors.protocol import Preprocessor
from profiles.registry import Registry

__all__ = ["Preprocessor", "preprocessors"]

# From the text after the name (`autocast=bfloat16`; empty where there is none) to a preprocessor.
preprocessors: Registry[Callable[[str], Preprocessor]] = Registry(
    "preprocessor", entry_point_group="recplan.preprocessors"
)


def _built_in(module: str, class_name: str) -> Callable[[str], Preprocessor]:
    """Loaded when it is made, since the module loads torch."""

    def make(text: str) -> Preprocessor:
        preprocessor: Preprocessor = getattr(import_module(module), class_name).from_text(text)
        return preprocessor

    return make


preprocessors.register("autocast", _built_in("profiles.preprocessors.precision", "Autocast"))
preprocessors.register("batch", _built_in("profiles.preprocessors.batch", "BatchSize"))
preprocessors.register("compile", _built_in("profiles.preprocessors.compilation", "Compile"))
preprocessors.register("dtype", _built_in("profiles.preprocessors.dtype", "CastDtype"))
preprocessors.register("rows", _built_in("profiles.preprocessors.rows", "CutRows"))
preprocessors.register("tf32", _built_in("profiles.preprocessors.precision", "Tf32"))
