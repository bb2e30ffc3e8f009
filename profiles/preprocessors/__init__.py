"""What is done to a model before it is profiled: precision, compilation, batch size."""

from collections.abc import Callable

from profiles.preprocessors.protocol import Preprocessor
from profiles.registry import Registry

__all__ = ["Preprocessor", "preprocessors"]

# From the text after the name (`autocast=bfloat16`; empty where there is none) to a preprocessor.
preprocessors: Registry[Callable[[str], Preprocessor]] = Registry(
    "preprocessor", entry_point_group="recplan.preprocessors"
)
