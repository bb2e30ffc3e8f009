"""What-ifs: edits of a plan's JSON form by dotted keys."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from profiles.errors import InputError, UnknownNameError

__all__ = ["edit_plan", "edited_options"]


def edit_plan(body: Mapping[str, Any], edits: Iterable[str]) -> dict[str, Any]:
    """A copy of a plan's JSON form with dotted keys replaced, e.g. `workload.qps=2000` or `devices.gpu.servers=2`.

    Values are read as JSON where they can be, else as text. List items are named by their `name` or their index.
    Another `policy.name` leaves the former policy's options behind.

    Raises:
        InputError: an edit without `=`, or a key that the plan does not have (with the keys it has there).
    """
    edited: dict[str, Any] = json.loads(json.dumps(body))
    edits = tuple(edits)
    for edit in edits:
        key, equals, text = edit.partition("=")
        if not equals or not key:
            raise InputError(f"--set {edit!r}: must be KEY=VALUE")
        *parents, last = key.strip().split(".")
        node: Any = edited
        for step in parents:
            node = node[_place(node, step, key)]
        place = _place(node, last, key)
        node[place] = _value(text)
    _drop_options_of_another_policy(body, edited, edited_options(edits))
    return edited


def edited_options(edits: Iterable[str]) -> tuple[str, ...]:
    """The policy's options that edits set, by name."""
    names: list[str] = []
    for left, _, text in (edit.partition("=") for edit in edits):
        key = left.strip()
        if key == "policy.options" and isinstance(options := _value(text), dict):
            names += options
        elif key.startswith("policy.options."):
            names.append(key.removeprefix("policy.options."))
    return tuple(names)


def _drop_options_of_another_policy(body: Mapping[str, Any], edited: dict[str, Any], kept: tuple[str, ...]) -> None:
    before, after = body.get("policy"), edited.get("policy")
    if isinstance(before, dict) and isinstance(after, dict) and before.get("name") != after.get("name"):
        options = after.get("options")
        if isinstance(options, dict):
            after["options"] = {name: value for name, value in options.items() if name in kept}


def _place(node: Any, step: str, key: str) -> Any:
    if isinstance(node, dict):
        # Options are free-form: a new key there is the policy's business.
        if step in node or key.startswith("policy.options."):
            return step
        raise UnknownNameError(f"--set {key}", step, node)
    if isinstance(node, list):
        names = [item.get("name", "") if isinstance(item, dict) else "" for item in node]
        if step in names:
            return names.index(step)
        if step.isdigit() and int(step) < len(node):
            return int(step)
        raise UnknownNameError(f"--set {key}", step, [name or str(i) for i, name in enumerate(names)])
    raise InputError(f"--set {key}: {step!r} is below a plain value")


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
