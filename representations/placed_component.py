"""A component at its place in a model."""

from dataclasses import dataclass

from profiles.component import Component

__all__ = ["PlacedComponent"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PlacedComponent:
    """A component and the path of the module that runs it; `feature` names whose embedding it belongs to."""

    path: str
    component: Component
    feature: str = ""
