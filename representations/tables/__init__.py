"""Tables that one call looks up together: the groups of a model and their back ends."""

from profiles.lazy import lazy_attributes

__all__ = ["TableGroup", "build_group", "fuse_optimizers", "quantise_model"]

__getattr__ = lazy_attributes(
    __name__,
    {
        "TableGroup": "representations.tables.group",
        "build_group": "representations.tables.build",
        "fuse_optimizers": "representations.tables.fbgemm",
        "quantise_model": "representations.tables.quantise",
    },
)
