"""`torch.compile` of every module that is run alone, or of the whole model too."""

import inspect
import os
import shutil
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import torch
from torch import nn

from profiles.errors import MeasurementError
from profiles.preprocessors.copies import model_tensors
from profiles.preprocessors.option_text import one_of
from profiles.preprocessors.protocol import Stage
from profiles.profilers.protocol import Figure
from profiles.providers.target import Target
from profiles.walk.capture import CapturedCall
from profiles.walk.gradients import gradient_edges, graph_of
from profiles.walk.subject import Subject

__all__ = ["Compile"]

_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
# One entry per shape and module is no accident here, and beyond these limits torch silently runs uncompiled code.
_LIMITS = {"recompile_limit": 1 << 10, "accumulated_recompile_limit": 1 << 20}


class Compile:
    """Compiles each module for the shapes of its calls before it is run alone; in the model all run as they are.

    With `whole_model` the model alone is compiled as well; `backend` is one of `torch.compile`. A part that cannot be
    compiled runs uncompiled between compiled ones (no full graph is asked for); what raises leaves the module to be
    summed from its children. `compile_seconds` is what the first calls took, torch's cache on disk included as it was
    found.
    """

    stage: Stage = "compile"
    figures: tuple[Figure, ...] = (Figure(name="compile_seconds", title="Compilation and first call (s)"),)

    def __init__(self, mode: str = "default", *, whole_model: bool = False, backend: str = "inductor") -> None:
        self.mode, self.whole_model, self.backend = one_of("compile", mode, _MODES), whole_model, backend
        parts = [*(["model"] if whole_model else []), *([mode] if mode != "default" else [])]
        self.name = f"compile({','.join(parts)})" if parts else "compile"

    @classmethod
    def from_text(cls, text: str) -> "Compile":
        """`model`, a mode of `torch.compile`, both with a comma between them, or nothing."""
        parts = [part.strip() for part in text.split(",") if part.strip()]
        modes = [part for part in parts if part != "model"] or ["default"]
        return cls(one_of("compile", ",".join(modes), _MODES), whole_model="model" in parts)

    def prepare_target(self, target: Target) -> Target:
        """The target itself.

        Raises:
            MeasurementError: no compiler for its device: g++ or what `CXX` names, or Triton.
        """
        kinds = {tensor.device.type for tensor in model_tensors(target.model)} or {"cpu"}
        if "cpu" in kinds and not (shutil.which(compiler := os.environ.get("CXX", "g++"))):
            raise MeasurementError(f"compile: needs a C++ compiler, but there is no {compiler!r}; set CXX to one")
        if "cuda" in kinds and find_spec("triton") is None:
            raise MeasurementError("compile: needs Triton for CUDA devices, but it is not installed")
        return target

    def prepare_subject(self, subject: Subject) -> Subject:
        """The subject with its module compiled and run once per call; one that is compiled or scripted stays so."""
        if subject.is_model and not self.whole_model:
            return subject
        if _is_finished(subject.module):
            kept = f"compile: a {type(subject.module).__name__} stays as it is"
            return replace(subject, notes=(*subject.notes, kept))
        options: dict[str, Any] = {"mode": self.mode, "backend": self.backend, "dynamic": False}
        if "isolate_recompiles" in inspect.signature(torch.compile).parameters:
            options["isolate_recompiles"] = True
        compiled: Any = torch.compile(subject.module, **options)
        prepared = replace(subject, module=compiled)
        start = time.perf_counter()
        with torch._dynamo.config.patch(_LIMITS):  # noqa: SLF001 (where torch keeps these settings)
            for call in subject.calls:
                _first_call(prepared, call)
        return replace(prepared, figures={**subject.figures, "compile_seconds": time.perf_counter() - start})

    def context(self) -> AbstractContextManager[object]:
        """Nothing."""
        return nullcontext()


def _is_finished(module: nn.Module) -> bool:
    """Scripted or compiled; the compiler takes seconds to load, so that it is not named before it is needed."""
    return isinstance(module, torch.jit.ScriptModule | torch._dynamo.OptimizedModule)  # noqa: SLF001 (no public name)


def _first_call(subject: Subject, call: CapturedCall) -> None:
    edges = gradient_edges(subject.module, (call.args, dict(call.kwargs))) if subject.phase == "backward" else []
    with subject.context(call):
        output = subject.run(call)
        # What gives no gradients has nothing to compile for them.
        with suppress(MeasurementError):
            graph_of(output, edges).gradients()
