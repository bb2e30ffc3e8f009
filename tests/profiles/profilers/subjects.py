"""Subjects for profilers, captured from a model as a profile does it."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import nn

from profiles.profilers import Finding, Profiler
from profiles.providers import InputBatch
from profiles.walk.capture import observe
from profiles.walk.subject import Phase, Subject
from profiles.walk.tree import module_tree


def subjects_of(
    model: nn.Module,
    *args: Any,
    phase: Phase = "forward",
    batches: tuple[InputBatch, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
) -> dict[str, Subject]:
    """By path, parents first; modules that were never called are left out."""
    nodes = module_tree(model)
    observed = observe(
        model, nodes, batches or (InputBatch(args=args, kwargs=kwargs or {}),), is_grad=phase == "backward"
    )
    return {
        node.path: Subject(
            path=node.path, module=node.module, original=node.module, calls=tuple(seen.calls), phase=phase
        )
        for node, seen in zip(nodes, observed, strict=True)
        if seen.calls
    }


def findings_of(profiler: Profiler, subjects: Mapping[str, Subject], folder: Path | None = None) -> dict[str, Finding]:
    """As a profile has them: all started, all visited, then asked."""
    opened = profiler.open(folder)
    runs = {path: opened.start(subject) for path, subject in subjects.items()}
    for run in runs.values():
        if run:
            run.visit()
    return {path: run.finding() for path, run in runs.items() if run}


def prepared(subject: Subject, module: nn.Module) -> Subject:
    return replace(subject, module=module)
