"""Profile DeepFM and nanoGPT on one device, beside what the Component Benchmark paper reports of an H100.

    python -m tests.gpu.profile_models --out DIR [--device cuda:0] [--minutes 4] [--sweep]

Needs torch and numpy only. Leaves a folder per profile (`profile.json`), and the comparison as `profile_models.md`
and `.json`. `--sweep` spends the rest of the time on `tests.gpu.sweep_presets`. Cases that the time does not suffice
for are told, not begun.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from profiles.devices import resolve_device
from profiles.errors import InputError
from profiles.files import make_folder, replace_file
from profiles.model_profile import ModelProfile
from profiles.models import NanoGptConfig, build_nanogpt
from profiles.placement import placed_target
from profiles.plug_ins import named_preprocessors, named_profilers
from profiles.profile_options import ProfileOptions
from profiles.providers import InputBatch, Target
from profiles.records import ComponentProfile
from profiles.results import save_profile
from profiles.utilisation import model_flops_share
from profiles.walk import profile_target
from representations.presets import get_preset
from representations.target import build_target
from tests.gpu import sweep_presets

__all__ = ["CASES", "Case", "compare", "main"]

# Shares of the dense peak that the paper prints for an H100; it names neither batch nor precision.
_DEEPFM = {"inter_arch.deep_fm.0": 0.2706, "inter_arch.fm": 0.0006, "dense_arch.0": 0.2591, "dense_arch.1": 0.2074,
           "dense_arch.relu_0": 0.0}  # fmt: skip
_NANOGPT = {"blocks.0.attention": 0.10, "blocks.0.mlp": 0.20}
_TABLE_BYTES = 20_000_000_000
_SECONDS_LEFT = 25.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A model, how it is prepared, in what precision its products then run, and the paper's MFU by path of ours."""

    name: str
    target: Callable[[], Target]
    preparations: tuple[str, ...] = ()
    precision: str = "float32"
    paper: Mapping[str, float] = field(default_factory=dict)


def deepfm() -> Target:
    """Our own DeepFM, dense part 1024-4096-512, at a batch of 4,096; tables cut to 20 GB."""
    return build_target(get_preset("deepfm-bench"), batch=4096, budget_bytes=_TABLE_BYTES)


def nanogpt() -> Target:
    """GPT-2 small at 12 sequences of 1,024 tokens."""
    config = NanoGptConfig()
    generator = torch.Generator().manual_seed(0)
    ids_BT = torch.randint(config.vocabulary, (12, config.block), generator=generator)
    return Target(name="nanogpt", model=build_nanogpt(config), batches=(InputBatch(args=(ids_BT,)),))


_BFLOAT16 = ("autocast=bfloat16",)
CASES = (
    Case(name="deepfm-bfloat16", target=deepfm, preparations=_BFLOAT16, precision="bfloat16", paper=_DEEPFM),
    Case(
        name="nanogpt-bfloat16",
        target=nanogpt,
        preparations=_BFLOAT16,
        precision="bfloat16",
        paper=_NANOGPT,
    ),
    Case(name="deepfm-float32", target=deepfm, paper=_DEEPFM),
    Case(name="nanogpt-float32", target=nanogpt, paper=_NANOGPT),
)


def compare(case: Case, profile: ModelProfile) -> dict[str, Any]:
    """Figures of the modules that the paper names, and of the model, as far as they could be run alone.

    MFU is that of the precision in which the products run; None where no peak is known.
    """
    rows = {row.path: row for row in profile.rows if row.phase == "forward"}
    if missing := sorted(set(case.paper) - set(rows)):
        raise InputError(f"case {case.name!r}: the model has no {missing[0]!r}")
    return {
        "case": case.name,
        "device": profile.rows[0].device,
        **profile.summary(),
        "rows": [
            {
                "path": path or "(model)",
                "alone_ms": alone_ms,
                "tflops_per_s": (rows[path].flops or 0.0) / alone_ms / 1e9,
                "mfu": model_flops_share(rows[path].flops, alone_ms, rows[path].device, case.precision),
                "bandwidth_share": rows[path].bandwidth_share,
                "paper_mfu": case.paper.get(path),
            }
            for path in ("", *case.paper, *(name for name in ("sparse_arch", "lm_head") if name in rows))
            if (alone_ms := _alone_ms(rows[path]))
        ],
    }


def main(arguments: Sequence[str] | None = None, cases: Sequence[Case] = CASES) -> int:
    """Profile until done or out of time; the exit code is 0 in both cases."""
    parser = argparse.ArgumentParser(description="Profile DeepFM and nanoGPT on one device.")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--budget", type=float, default=15.0, help="seconds of visits per case (default: 15)")
    parser.add_argument("--sweep", action="store_true", help="measure the presets' components in the time left")
    parsed = parser.parse_args(arguments)
    deadline = time.monotonic() + 60 * parsed.minutes
    found = []
    for case in cases:
        if time.monotonic() > deadline - _SECONDS_LEFT:
            sys.stdout.write(f"{case.name}: not begun, out of time\n")
            continue
        profile = _profile(case, parsed.device, parsed.budget, make_folder(parsed.out / case.name))
        found.append(compare(case, profile))
        sys.stdout.write(f"{case.name}: {profile.profile_seconds:.1f} s\n")
        _write(parsed.out, found)
    if parsed.sweep:
        minutes = max(0.0, (deadline - time.monotonic()) / 60)
        sweep_presets.main(
            ["--out", str(parsed.out / "store"), "--device", parsed.device, "--minutes", f"{minutes:.2f}"]
        )
    return 0


def _profile(case: Case, device: str, budget_s: float, folder: Path) -> ModelProfile:
    options = ProfileOptions(cold=True, threads=1, budget_s=budget_s, folder=folder)
    profile = profile_target(
        placed_target(case.target(), resolve_device(device).torch_device),
        options=options,
        preprocessors=named_preprocessors(case.preparations),
        profilers=named_profilers(["memory", "kernels"], folder),
    )
    save_profile(profile, folder)
    return profile


def _alone_ms(row: ComponentProfile) -> float | None:
    return row.warm.median_ms if row.warm else None


def _write(folder: Path, found: Sequence[Mapping[str, Any]]) -> None:
    replace_file(folder / "profile_models.json", json.dumps(found, indent=1) + "\n")
    lines = ["# Components on one device, beside the paper's H100", ""]
    lines += ["| case | device | component | alone, ms | TFLOP/s | MFU | bandwidth | paper's MFU |"]
    lines += ["| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |"]
    for one in found:
        for row in one["rows"]:
            cells = [one["case"], one["device"], row["path"], _number(row["alone_ms"]), _number(row["tflops_per_s"])]
            cells += [_percent(row[name]) for name in ("mfu", "bandwidth_share", "paper_mfu")]
            lines.append(f"| {' | '.join(cells)} |")
    replace_file(folder / "profile_models.md", "\n".join(lines) + "\n")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.2%}"


if __name__ == "__main__":
    raise SystemExit(main())
