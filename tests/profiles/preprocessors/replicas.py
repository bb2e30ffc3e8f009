"""What the replicated calls of a model are, beside those of a capture at that size."""

from collections.abc import Mapping, Sequence

import torch

from profiles.nested import tensors_of
from profiles.preprocessors.batch import BatchSize
from profiles.providers.target import InputBatch, Target
from profiles.walk.capture import CapturedCall, Observation, observe
from profiles.walk.subject import Subject
from profiles.walk.tree import module_tree

__all__ = ["assert_replicas_are_true", "observed", "prepared_subjects"]


def observed(target: Target, batch: InputBatch) -> Mapping[str, Observation]:
    nodes = module_tree(target.model)
    return {node.path: seen for node, seen in zip(nodes, observe(target.model, nodes, (batch,)), strict=True)}


def prepared_subjects(target: Target, samples: int, captured: int) -> dict[str, Subject]:
    preprocessor = BatchSize(samples, captured=captured)
    target = preprocessor.prepare_target(target)
    found = {}
    for path, seen in observed(target, target.batches[0]).items():
        if seen.calls:
            module = target.model.get_submodule(path)
            subject = Subject(path=path, module=module, original=module, calls=tuple(seen.calls))
            found[path] = preprocessor.prepare_subject(subject)
    return found


def assert_replicas_are_true(target: Target, samples: int, captured: int) -> None:
    """The same modules, called as often with tensors of the same shapes, at the same FLOPs."""
    assert target.resized
    truth = observed(target, target.resized(samples))
    prepared = prepared_subjects(target, samples, captured)
    assert prepared.keys() == {path for path, seen in truth.items() if seen.calls}
    for path, subject in prepared.items():
        assert _shapes(subject.calls) == _shapes(truth[path].calls), path
        assert subject.figures["flops"] == truth[path].flops, path
        assert [call.count for call in subject.calls] == [call.count for call in truth[path].calls], path


def _shapes(calls: Sequence[CapturedCall]) -> list[list[torch.Size]]:
    return [[tensor.shape for tensor in tensors_of((call.args, call.kwargs))] for call in calls]
