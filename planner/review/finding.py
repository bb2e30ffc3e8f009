"""From the name of a target to what is reviewed.

dlrm-kaggle, deepfm           a built-in model
STUDY.toml:CANDIDATE          a candidate of a study's space, with the study's devices, prices and id skew
DIR:NAME, plan.json:NAME      a path of a plan that `recplan plan` or `recplan map` left, by its or its candidate's name
model.safetensors             a trained model, as `save_model` writes it
package.module:function       a function that gives (model, inputs)
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.review.subject import Subject, subject_of_module, subject_of_spec
from profiles.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from profiles.providers.target import Target
    from representations.specs import ModelSpec
    from representations.torchrec_models import TorchrecModel

__all__ = ["find_subject"]

_BATCH = 256
_PLAN = "plan.json"
_MODEL = ".safetensors"


def find_subject(target: str, *, zipf: float | None = None) -> Subject:
    """The model that the target names; `zipf` overrides the skew of its ids (uniform where a target brings none).

    Raises:
        InputError: nobody knows the name, a file that is none of these, a module whose cost is not known.
    """
    place, _, name = target.rpartition(":")
    for path, wanted in ((Path(target), ""), (Path(place), name)):
        if str(path) != "." and (path.exists() or path.suffix in (".toml", _MODEL, ".json")):
            return _of_file(path, wanted, zipf)
    return _of_name(target, zipf or 0.0)


def _of_file(path: Path, wanted: str, zipf: float | None) -> Subject:
    if not path.exists():
        raise InputError(f"target: there is no {path}")
    if path.suffix == ".toml":
        return _of_study(path, wanted, zipf)
    if path.suffix == _MODEL:
        return _of_model_file(path, zipf)
    if path.name.endswith(".json"):
        return _of_plan(path, wanted, zipf)
    if path.is_dir():
        return _of_folder(path, wanted, zipf)
    raise InputError(f"target {str(path)!r}: must be a study (.toml), a plan (.json), a model ({_MODEL}) or a folder")


def _of_folder(folder: Path, wanted: str, zipf: float | None) -> Subject:
    if (folder / _PLAN).is_file():
        return _of_plan(folder / _PLAN, wanted, zipf)
    models = sorted(folder.glob(f"*{_MODEL}"))
    named = [path for path in models if not wanted or path.stem == wanted]
    if len(named) == 1:
        return _of_model_file(named[0], zipf)
    if not models:
        raise InputError(f"{folder}: holds neither {_PLAN} nor a model (*{_MODEL})")
    raise _unknown(f"{folder}: model", wanted, [path.stem for path in models])


def _of_study(path: Path, wanted: str, zipf: float | None) -> Subject:
    from planner.pipeline.data import load_study_data
    from planner.search.candidate import build_candidate, candidate_name
    from planner.search.space import enumerate_choices
    from planner.study import load_study

    study = load_study(path)
    if not study.search.space.is_flat:
        raise InputError(f"{path}: candidates of its space have no names of their own; name a plan or a model file")
    names = {candidate_name(choices): choices for choices in enumerate_choices(study.search.space)}
    if wanted not in names:
        raise _unknown(f"{path}: candidate", wanted, names)
    data = load_study_data(study)
    spec = build_candidate(names[wanted], data.features, data.dense_features, study.model)
    skew = data.zipf if zipf is None else zipf
    return subject_of_spec(spec, batch=study.latency_batch, zipf=skew, devices=study.devices)


def _of_plan(path: Path, wanted: str, zipf: float | None) -> Subject:
    from representations.specs import model_from_object
    from serving_sim.plan import load_plan

    plan = load_plan(path)
    specs = {one.name: model_from_object(one.model) for one in plan.paths if one.model is not None}
    by_name = {**specs, **{spec.name: spec for spec in specs.values()}}
    if not by_name:
        raise InputError(f"{path}: none of its paths tells which model it serves")
    if not wanted and len(set(specs.values())) == 1:
        wanted = next(iter(specs))
    if wanted not in by_name:
        raise _unknown(f"{path}: path", wanted, by_name)
    return subject_of_spec(by_name[wanted], batch=round(plan.workload.sizes.mean), zipf=zipf or 0.0)


def _of_model_file(path: Path, zipf: float | None) -> Subject:
    from representations.model_file import load_model

    return subject_of_spec(load_model(path).spec, zipf=zipf or 0.0)


def _of_name(target: str, zipf: float) -> Subject:
    from profiles.providers import find_target
    from representations.presets import model_presets

    if target in model_presets:
        return subject_of_spec(model_presets.get(target)(), zipf=zipf)
    if ":" not in target and (known := _torchrec_models().get(target)):
        return _of_torchrec(known, zipf)
    return _of_target(find_target(target), zipf)


def _torchrec_models() -> "Mapping[str, TorchrecModel]":
    from representations.torchrec_models import deepfm, dlrm

    return {model.name: model for model in (deepfm(), dlrm())}


def _of_torchrec(model: "TorchrecModel", zipf: float) -> Subject:
    """In its whole size, which takes no memory as long as nothing runs."""
    from representations.torchrec_models import whole_module

    pooling = {feature.name: feature.pooling for feature in model.features}
    return subject_of_module(model.name, whole_module(model), batch=_BATCH, pooling=pooling, zipf=zipf)


def _of_target(target: "Target", zipf: float) -> Subject:
    spec: ModelSpec | None = getattr(target.model, "spec", None)
    batch = _samples(target)
    if spec is not None and hasattr(spec, "mlp_layers"):
        return subject_of_spec(spec.renamed(target.name), batch=batch, zipf=zipf, notes=target.notes)
    return subject_of_module(
        target.name, target.model, batch=batch, pooling=_pooling(target), zipf=zipf, notes=target.notes
    )


def _inputs(target: "Target") -> Iterable[Any]:
    return (*target.args, *target.kwargs.values())


def _samples(target: "Target") -> int:
    """The first dimension of the first tensor among the inputs, or the stride of a jagged one."""
    for one in _inputs(target):
        if hasattr(one, "stride_per_key"):
            return int(one.stride())
        if getattr(one, "ndim", 0):
            return max(1, int(one.shape[0]))
    return _BATCH


def _pooling(target: "Target") -> Mapping[str, float] | float:
    """The mean ids per sample and feature of torchrec's jagged inputs; one each where there are none."""
    found: dict[str, float] = {}
    for one in _inputs(target):
        if hasattr(one, "length_per_key") and hasattr(one, "stride_per_key"):
            samples = max(1, int(one.stride()))
            found |= {key: length / samples for key, length in zip(one.keys(), one.length_per_key(), strict=True)}
    return found or 1.0


def _unknown(what: str, wanted: str, known: Iterable[str]) -> InputError:
    names = sorted(known)
    if not wanted:
        some = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        return InputError(f"{what}: name one after a colon, of {some}")
    if len(names) <= 40:
        return UnknownNameError(what, wanted, names)
    from difflib import get_close_matches

    close = ", ".join(get_close_matches(wanted, names, n=4, cutoff=0.3)) or ", ".join(names[:4])
    return InputError(f"{what}: unknown name {wanted!r}; there are {len(names)}, such as {close}")
