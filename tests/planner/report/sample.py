"""A small report's inputs, made by hand: a flights study on a measured CPU and an estimated GPU."""

import json
import math
import random
from typing import Any

from planner.report import MappingInputs, ReportInputs, SearchInputs, ServingInputs, ValidationInputs
from planner.report.stored import inputs_from_object, inputs_to_object
from profiles.records import ComponentProfile, Fingerprint, Latency, Provenance
from serving_sim.plan import Device, LatencyTable, Path, Plan, Workload

FINGERPRINT = Fingerprint(
    device="local-cpu",
    processor="AMD EPYC 7B13",
    threads=1,
    python="3.11.9",
    libraries=(("numpy", "2.3.1"), ("torch", "2.13.0")),
    timestamp="2026-03-02T10:00:00.000000+00:00",
)
SIZES = (1, 8, 32, 128, 512, 4096)


def sample_plan(name: str = "quickstart", path: str = "hybrid@gpu") -> Plan:
    def table(base_ms: float, per_sample_ms: float) -> LatencyTable:
        return LatencyTable(sizes=SIZES, mean_ms=tuple(base_ms + per_sample_ms * size for size in SIZES))

    return Plan(
        name=name,
        devices=(
            Device(name="cpu", kind="local-cpu", memory_bytes=1_000_000_000, price_per_hour=0.10),
            Device(name="gpu", kind="v100", memory_bytes=200_000_000, price_per_hour=1.20),
        ),
        paths=(
            Path(
                name="table@cpu",
                representation="table",
                device="cpu",
                accuracy=0.8012,
                latency=table(0.2, 0.004),
                parameter_bytes=540_000_000,
                provenance="predicted",
                candidate="trial-3",
            ),
            Path(
                name="dhe@cpu",
                representation="dhe",
                device="cpu",
                accuracy=0.8021,
                latency=table(0.9, 0.031),
                parameter_bytes=14_300_000,
                provenance="measured",
                candidate="trial-9",
            ),
            Path(
                name=path,
                representation="hybrid",
                device="gpu",
                accuracy=0.8034,
                latency=table(1.1, 0.002),
                parameter_bytes=124_000_000,
                provenance="estimated",
                candidate="trial-12",
            ),
        ),
        workload=Workload(qps=1000, sla_ms=10),
    )


def simulation(policy: str, shares: dict[str, float], **changes: Any) -> dict[str, Any]:
    return {
        "policy": policy,
        "static": len(shares) == 1,
        "queries": 100_000,
        "latency_ms": {"p50": 1.4, "p95": 3.9, "p99": 6.2, "p999": 9.1},
        "sla_violation_share": 0.0004,
        "accuracy": 0.8028,
        "correct_predictions_in_sla_per_s": 102_700.0,
        "paths": [{"name": name, "share": share} for name, share in shares.items()],
        **changes,
    }


def capacity(policy: str, qps: float) -> dict[str, Any]:
    return {"policy": policy, "max_qps": qps, "ci_low": qps * 0.97, "ci_high": qps * 1.03, "accuracy": 0.80}


def sample_serving(path: str = "hybrid@gpu", best: str = "mp-rec") -> ServingInputs:
    slow = {"p50": 4.0, "p95": 20.0, "p99": 31.5, "p999": 60.0}
    return ServingInputs(
        simulations=(
            simulation(best, {"table@cpu": 0.38, "dhe@cpu": 0.0, path: 0.62}),
            simulation(
                "static (path=table@cpu)", {"table@cpu": 1.0}, accuracy=0.8012, correct_predictions_in_sla_per_s=102_500
            ),
            simulation(
                "static (path=dhe@cpu)",
                {"dhe@cpu": 1.0},
                latency_ms=slow,
                sla_violation_share=0.21,
                accuracy=0.8021,
                correct_predictions_in_sla_per_s=81_000,
            ),
        ),
        capacity={
            "sla_ms": 10.0,
            "percentile": 99.0,
            "upper_bound_qps": 2900.0,
            "policies": [
                capacity(best, 1830),
                capacity("static (path=table@cpu)", 1350),
                capacity("static (path=dhe@cpu)", 240),
            ],
        },
        latency=tuple(
            {"policy": policy, "latency_ms": scale * 1.3**at, "slower_share": 0.5 ** (at * 0.8) if at < 18 else 0.0}
            for policy, scale in ((best, 0.8), ("static (path=table@cpu)", 0.7), ("static (path=dhe@cpu)", 2.4))
            for at in range(20)
        ),
        path_share=tuple(
            {
                "path": name,
                "size_class": at,
                "size_from": 2**at,
                "size_to": 2 * 2**at - 1,
                "queries": 10,
                "share": share,
            }
            for at in range(12)
            for name, share in (("table@cpu", 1 / (1 + at)), (path, at / (1 + at)))
        ),
        path_share_policy=best,
        violations=tuple(
            {
                "policy": policy,
                "qps": float(qps),
                "violation_share": min(1.0, (qps / top) ** 8 / 100),
                "verdict": "stable",
            }
            for policy, top in ((best, 1830), ("static (path=table@cpu)", 1350), ("static (path=dhe@cpu)", 240))
            for qps in range(200, 2200, 200)
        ),
        load=tuple(
            {
                "policy": policy,
                "qps": float(qps),
                "violation_share": None if policy == "fluid bound" else min(1.0, (qps / top) ** 8 / 100),
                "goodput_qps": None if policy == "fluid bound" else float(min(qps, top)),
                "correct_in_sla_per_s": min(qps, top) * right * 128,
                "right_share": min(qps, top) / qps * right,
                "accuracy": None if policy == "fluid bound" else right,
                "verdict": None if policy == "fluid bound" else "stable",
            }
            for policy, top, right in (
                (best, 1830, 0.8028),
                ("static (path=table@cpu)", 1350, 0.8012),
                ("static (path=dhe@cpu)", 240, 0.8021),
                ("fluid bound", 2900, 0.8034),
            )
            for qps in range(200, 2200, 200)
        ),
        queue=tuple(
            {
                "device": device,
                "start_s": float(at),
                "end_s": at + 1.0,
                "mean_backlog_ms": 0.4 + 0.1 * (at % 3),
                "max_backlog_ms": 3.0 + at % 5,
                "mean_waiting": 0.2,
            }
            for device in ("cpu", "gpu")
            for at in range(20)
        ),
        cost=tuple(
            {"policy": policy, "cost_per_million_correct": cost, "energy_j_per_query": energy, "correct_per_j": 2.0}
            for policy, cost, energy in (
                (best, 0.0035, 0.31),
                ("static (path=table@cpu)", 0.0036, 0.28),
                ("static (path=dhe@cpu)", 0.0046, None),
            )
        ),
    )


def sample_validation() -> ValidationInputs:
    generator = random.Random(3)
    kinds = ("linear", "embedding", "elementwise", "dhe_encoder", "interaction")
    points = []
    for i in range(120):
        measured = 10 ** generator.uniform(-2.3, 1.2)
        predicted = measured * math.exp(generator.gauss(0, 0.06))
        points.append({"kind": kinds[i % 5], "batch": 128, "measured_ms": measured, "predicted_ms": predicted})
    return ValidationInputs(
        summary={
            "noise_floor": {"median": 0.021, "p90": 0.058},
            "components": [{"kind": kind, "mape": 0.055, "p90": 0.12, "within_10": 0.87} for kind in kinds],
            "composed": {"mape": 0.063, "p90": 0.14, "within_10": 0.81, "kendall_tau": 0.94},
            "interval_coverage_90": 0.912,
        },
        points=tuple(points),
    )


def sample_search(representation: str = "hybrid") -> SearchInputs:
    generator = random.Random(5)
    kinds = ("table", "dhe", "select", representation)
    trials = [
        {
            "number": number,
            "name": f"trial-{number}",
            "state": "complete",
            "representation": kinds[number % 4],
            "accuracy": 0.80 + 0.004 * generator.random(),
            "auc": 0.72 + 0.01 * generator.random(),
            "log_loss": 0.43 + 0.01 * generator.random(),
            "latency_ms": 0.4 * math.exp(generator.gauss(0, 0.7)),
            "parameter_bytes": round(10 ** generator.uniform(5, 7.5)),
            "flops": 10 ** generator.uniform(4, 6),
            "feasible": True,
            "pareto": number % 5 == 0,
            "dim": 16,
            "provenance": "predicted",
            "reason": "",
            "train_seconds": 4.0 + number / 10,
        }
        for number in range(24)
    ]
    return SearchInputs(
        trials=tuple(trials),
        constraints={"latency_ms": 2.0, "parameter_bytes": 8e6},
        latency_device="cpu",
        latency_batch=128,
        hypervolume=0.412,
        chosen=10,
    )


def profile_row(
    path: str, class_name: str, depth: int, ms: float, provenance: Provenance = "measured"
) -> ComponentProfile:
    latency = Latency(p25_ms=ms * 0.97, median_ms=ms, iqr_ms=ms * 0.05, n=60, visits=3)
    return ComponentProfile(
        path=path,
        class_name=class_name,
        kind="module",
        spec="",
        content_hash=f"hash-{path}",
        device="local-cpu",
        batch=128,
        dtype="float32",
        fingerprint=FINGERPRINT,
        provenance=provenance,
        depth=depth,
        in_situ=latency,
        warm=latency if depth else None,
        flops=ms * 1e8,
        bytes_moved=ms * 1e6,
        parameter_bytes=round(ms * 1e5),
    )


def sample_profile(layer: str = "0") -> tuple[ComponentProfile, ...]:
    return (
        profile_row("", "Dlrm", 0, 1.0, "aggregated"),
        profile_row("bottom_mlp", "Mlp", 1, 0.2),
        profile_row(f"bottom_mlp.{layer}", "Linear", 2, 0.12),
        profile_row("bottom_mlp.1", "Linear", 2, 0.06),
        profile_row("embeddings", "Embeddings", 1, 0.45),
        profile_row("embeddings.carrier", "HybridEmbedding", 2, 0.25),
        profile_row("embeddings.carrier.dhe", "DheEmbedding", 3, 0.18),
        profile_row("embeddings.origin", "EmbeddingBag", 2, 0.15),
        profile_row("interaction", "DotInteraction", 1, 0.1),
        profile_row("top_mlp", "Mlp", 1, 0.2),
        profile_row("top_mlp.0", "Linear", 2, 0.15),
    )


def sample_mapping(candidate: str = "trial-12") -> MappingInputs:
    def row(device: str, role: str, name: str | None, reason: str) -> dict[str, Any]:
        return {"device": device, "role": role, "candidate": name, "reason": reason}

    return MappingInputs(
        decisions=(
            row("cpu", "hybrid", None, "no hybrid meets the SLA beside a table"),
            row("cpu", "table", "trial-3", "the path for tight SLAs: the most accurate of the fast tables that fit"),
            row("cpu", "between", "trial-9", "between table and hybrid in accuracy and latency"),
            row("gpu", "hybrid", candidate, "the most accurate hybrid that fits; no table fits beside it"),
            row("gpu", "table", None, "the smallest needs 540 MB of the 76 MB left"),
        )
    )


def sample_inputs(**changes: Any) -> ReportInputs:
    fields: dict[str, Any] = {
        "name": "quickstart",
        "created": "2026-03-02",
        "study": {
            "schema": "recplan.study/1",
            "name": "quickstart",
            "data": {"source": "flights", "split": "temporal"},
            "devices": [{"name": "cpu", "kind": "local-cpu"}, {"name": "gpu", "kind": "v100"}],
        },
        "fingerprint": FINGERPRINT,
        "data": "flights, 120,000 rows, temporal split",
        "seeds": {"study": 0, "training": 1},
        "plan": sample_plan().to_object(),
        "profile": sample_profile(),
        "validation": sample_validation(),
        "search": sample_search(),
        "mapping": sample_mapping(),
        "serving": sample_serving(),
    }
    return ReportInputs(**{**fields, **changes})


EVIL = "<script>alert(1)</script>"


def hostile_inputs() -> ReportInputs:
    """The same inputs, with a script for every name that a user gives."""
    text = json.dumps(inputs_to_object(sample_inputs()))
    for name in ("quickstart", "gpu", "hybrid@gpu", "mp-rec", "trial-12", "bottom_mlp.0", "DotInteraction", "linear"):
        text = text.replace(f'"{name}"', json.dumps(EVIL + name))
    return inputs_from_object(json.loads(text))
