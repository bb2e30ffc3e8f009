"""What the paper says of serving: ratios over tables on the processor, late queries, sweeps, small memory, IPUs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from planner.study import DeviceSection
from profiles.units import MS_PER_S
from serving_sim.metrics import SimulationResult
from serving_sim.plan import Plan
from serving_sim.policies import Headroom, MpRec, Policy, Static, TableSwitch
from serving_sim.policies.mp_rec import FINISH_IN_SLA
from tests.benchmarks.mp_rec_caches import MpCache
from tests.benchmarks.mp_rec_claim import Claim, change, holds, ratio, stated
from tests.benchmarks.mp_rec_devices import DECODER, ENCODER
from tests.benchmarks.mp_rec_setup import (
    Setup,
    mean_service_ms,
    rate_when_late,
    serve,
    switching_gain,
    throughput,
)

__all__ = [
    "CPU",
    "DECODED",
    "ENCODED",
    "GPU",
    "LATE",
    "MP_REC",
    "SLAS_MS",
    "SWITCH",
    "Served",
    "ablation",
    "compiled_claims",
    "crossing_size",
    "late_claims",
    "serve_setup",
    "size_rows",
    "small_memory_claims",
    "sweep_claims",
    "sweeps",
    "throughput_claims",
]

# The paper's share of late queries of tables on the CPU, at 10 ms.
LATE = 0.3073
SLAS_MS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0)
_RATES = (0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.3, 1.5)
_MEAN_SIZES = (16, 32, 64, 128, 256, 512, 1024)
CPU, GPU = "table on CPU", "table on GPU"
SWITCH, MP_REC = "tables, switched", "MP-Rec"
ENCODED, DECODED = "MP-Rec + encoder cache", "MP-Rec + both caches"


@dataclass(frozen=True, kw_only=True)
class Served:
    """A setup's plan without caches, with the encoder cache, and with both, and the policies compared on them."""

    setup: Setup
    plan: Plan
    encoded: Plan
    decoded: Plan

    def with_sizes(self, *, mean: float | None = None, sigma: float | None = None) -> "Served":
        """The same under queries of other sizes."""
        sizes = self.plan.workload.sizes
        sizes = replace(sizes, mean=sizes.mean if mean is None else mean, sigma=sizes.sigma if sigma is None else sigma)
        plan, encoded, decoded = (one.at(sizes=sizes) for one in (self.plan, self.encoded, self.decoded))
        return Served(setup=self.setup, plan=plan, encoded=encoded, decoded=decoded)

    @cached_property
    def policies(self) -> dict[str, tuple[Plan, Policy]]:
        """By label, the plan and the policy on it; static ones of the paths that there are."""
        static = {f"{path.representation} on {path.device.upper()}": Static(path=path.name) for path in self.plan.paths}
        return {
            **{label: (self.plan, policy) for label, policy in static.items()},
            SWITCH: (self.plan, TableSwitch()),
            MP_REC: (self.plan, MpRec()),
            ENCODED: (self.encoded, MpRec()),
            DECODED: (self.decoded, MpRec()),
        }

    @cached_property
    def base(self) -> Policy:
        """Tables on the processor."""
        return self.policies[CPU][1]

    @cached_property
    def late_qps(self) -> float:
        """The rate at which tables on the processor are late as often as the paper says."""
        return rate_when_late(self.plan, self.base, LATE)

    def serve(self, label: str, *, qps: float | None = None, sla_ms: float | None = None) -> SimulationResult:
        """A policy by its label."""
        plan, policy = self.policies[label]
        return serve(plan, policy, qps=qps, sla_ms=sla_ms)

    @cached_property
    def throughputs(self) -> dict[str, float]:
        """Correct predictions per second of every policy where queries always wait."""
        return {label: throughput(plan, policy) for label, (plan, policy) in self.policies.items()}

    def over_base(self, label: str) -> float:
        """Throughput over that of tables on the processor."""
        return self.throughputs[label] / self.throughputs[CPU]


def serve_setup(setup: Setup) -> Served:
    """The plans of a setup."""
    return Served(
        setup=setup,
        plan=setup.plan,
        encoded=setup.cached(MpCache(encoder_bytes=ENCODER)),
        decoded=setup.cached(MpCache(encoder_bytes=ENCODER, centroids=DECODER)),
    )


def throughput_claims(kaggle: Served, terabyte: Served) -> list[Claim]:
    """Correct predictions per second where queries always wait."""
    claims = [
        ratio(
            f"MP-Rec over tables on the CPU, {name}",
            paper,
            served.over_base(DECODED),
            f"without caches {served.over_base(MP_REC):.2f}x, tables switched {served.over_base(SWITCH):.2f}x",
        )
        for name, paper, served in (("Kaggle", 2.49, kaggle), ("Terabyte", 3.76, terabyte))
    ]
    claims += [
        change(
            f"{what} on the GPU over tables on the CPU, Kaggle", paper, kaggle.over_base(f"{what.lower()} on GPU") - 1
        )
        for what, paper in (("DHE", -0.628), ("Hybrid", -0.633))
    ]
    for name, paper, served in (("Kaggle", 0.18, kaggle), ("Terabyte", 0.0, terabyte)):
        tables = [path.name for path in served.plan.paths if path.representation == "table"]
        both = served.throughputs[SWITCH] / max(served.throughputs[CPU], served.throughputs[GPU]) - 1
        claims.append(
            change(
                f"tables switched between CPU and GPU, over the better one, {name}",
                paper,
                switching_gain(served.plan, tables),
                f"one query at a time, each on the quicker device; {both:+.0%} where both devices work side by side",
            )
        )
    claims.append(
        holds(
            "MP-Rec gains more on Terabyte than on Kaggle",
            terabyte.over_base(DECODED) > kaggle.over_base(DECODED),
        )
    )
    small = {name: crossing_size(served) for name, served in (("Kaggle", kaggle), ("Terabyte", terabyte))}
    claims += [
        holds("Kaggle: small queries are quicker on the CPU's tables", small["Kaggle"] > 1, _up_to(small["Kaggle"])),
        holds("Terabyte: the GPU's tables are always quicker", small["Terabyte"] <= 1, _up_to(small["Terabyte"])),
    ]
    return claims


def crossing_size(served: Served) -> int:
    """The smallest query that the GPU's tables serve sooner than the CPU's."""
    cpu, gpu = (next(p for p in served.plan.paths if p.name == f"table@{device}") for device in ("cpu", "gpu"))
    pairs = zip(cpu.latency.sizes, cpu.latency.mean_ms, gpu.latency.mean_ms, strict=True)
    return next((size for size, on_cpu, on_gpu in pairs if on_gpu < on_cpu), cpu.latency.sizes[-1])


def late_claims(served: Served) -> list[Claim]:
    """Late queries at 10 ms, at the rate at which tables on the CPU are late as often as the paper's."""
    qps = served.late_qps
    late = {label: served.serve(label, qps=qps).sla_violation_share for label in (CPU, MP_REC, DECODED)}
    ours = serve(served.plan, served.base)
    claims = [
        stated(
            "tables on the CPU, late at 10 ms",
            LATE,
            late[CPU],
            f"an input: ours are so late at {qps:,.0f} queries/s; at 1,000 {ours.sla_violation_share:.2%} are late",
            unit="%",
        ),
        Claim(
            claim="MP-Rec, late at 10 ms, at that rate",
            paper=0.0314,
            ours=late[DECODED],
            same_sign=late[DECODED] < late[CPU],
            unit="%",
            note=f"without caches {late[MP_REC]:.2%}",
        ),
    ]
    for what in ("dhe", "hybrid"):
        on = {device: served.serve(f"{what} on {device}", qps=400.0) for device in ("CPU", "GPU")}
        claims.append(
            Claim(
                claim=f"{what} alone on the CPU at 400 queries/s, late at 10 ms",
                paper=1.0,
                ours=on["CPU"].sla_violation_share,
                same_sign=on["CPU"].sla_violation_share > 0.5,
                unit="%",
                note=f"{on['GPU'].sla_violation_share:.2%} on the GPU",
            )
        )
    return claims


def sweeps(served: Served, labels: Sequence[str], slas_ms: Sequence[float]) -> list[dict[str, float | str]]:
    """Correct predictions within the SLA per second, and late queries, over SLAs, at the paper's lateness."""
    rows: list[dict[str, float | str]] = []
    for sla_ms in slas_ms:
        for label in labels:
            result = served.serve(label, qps=served.late_qps, sla_ms=sla_ms)
            rows.append(
                {
                    "policy": label,
                    "sla_ms": sla_ms,
                    "in_sla_per_s": result.correct_predictions_in_sla_per_s,
                    "late": result.sla_violation_share,
                    "accuracy": result.accuracy,
                }
            )
    return rows


def size_rows(served: Served) -> list[dict[str, float]]:
    """MP-Rec over tables on the CPU by mean query size, where queries always wait."""
    rows = []
    for mean in _MEAN_SIZES:
        policies = served.with_sizes(mean=float(mean)).policies
        found = {label: throughput(*policies[label]) for label in (CPU, GPU, SWITCH, MP_REC, DECODED)}
        rows.append({"mean_size": float(mean), **{label: rate / found[CPU] for label, rate in found.items()}})
    return rows


def sweep_claims(rows: Sequence[Mapping[str, float | str]], sizes: Sequence[Mapping[str, float]]) -> list[Claim]:
    """MP-Rec against tables on the CPU over all SLAs and sizes."""
    by = {(row["policy"], row["sla_ms"]): row for row in rows}
    slas = sorted({float(row["sla_ms"]) for row in rows})
    ahead = [float(by[DECODED, s]["in_sla_per_s"]) >= float(by[CPU, s]["in_sla_per_s"]) for s in slas]
    sooner = [float(by[DECODED, s]["late"]) <= float(by[CPU, s]["late"]) for s in slas]
    ratios = [row[DECODED] for row in sizes]
    note = ", ".join(f"{row['mean_size']:.0f}: {row[DECODED]:.2f}x" for row in sizes)
    return [
        holds("MP-Rec serves more within the SLA than tables on the CPU, 1 to 200 ms", all(ahead)),
        holds("MP-Rec is late less often than tables on the CPU, 1 to 200 ms", all(sooner)),
        holds("MP-Rec is ahead of tables on the CPU at every mean query size", min(ratios) > 1, note),
    ]


def ablation(served: Served) -> list[dict[str, float | str]]:
    """What each part adds: at the paper's rate, at its lateness, and where queries always wait."""
    steps = {
        CPU: "table on CPU",
        SWITCH: "+ table switching",
        MP_REC: "+ representations",
        ENCODED: "+ encoder cache",
        DECODED: "+ decoder cache",
    }
    rows: list[dict[str, float | str]] = []
    for label, step in steps.items():
        paper, late = served.serve(label), served.serve(label, qps=served.late_qps)
        rows.append(
            {
                "step": step,
                "over_base": served.over_base(label),
                "late_in_sla": late.correct_predictions_in_sla_per_s,
                "late_share": late.sla_violation_share,
                "late_accuracy": late.accuracy,
                "paper_in_sla": paper.correct_predictions_in_sla_per_s,
                "paper_share": paper.sla_violation_share,
                "paper_accuracy": paper.accuracy,
            }
        )
    return rows


def small_memory_claims(served: Served) -> list[Claim]:
    """HW-2: DHE's accuracy at a throughput above that of tables on the CPU.

    Throughput is the most that is served within the SLA at any rate: where queries always wait, MP-Rec falls back on
    tables, and only the CPU has them.
    """
    policies: dict[str, tuple[Plan, Policy]] = {
        "tables": (served.plan, served.base),
        "MP-Rec": (served.decoded, MpRec()),
        "MP-Rec by deadline alone": (served.decoded, MpRec(predicate=FINISH_IN_SLA)),
        "headroom": (served.decoded, Headroom()),
    }
    most = {label: _most_in_sla(served, plan, policy) for label, (plan, policy) in policies.items()}
    over = {label: figure / most["tables"] for label, figure in most.items()}
    offered = {label: serve(plan, policy) for label, (plan, policy) in policies.items()}
    dhe = max(path.accuracy for path in served.plan.paths if path.representation == "dhe")
    alone = throughput(served.decoded, Static(path="dhe@gpu")) / served.throughputs[CPU]
    return [
        holds(
            "HW-2: MP-Rec serves more within the SLA than tables on the CPU",
            max(over["MP-Rec"], over["MP-Rec by deadline alone"]) > 1,
            ", ".join(f"{label} {figure:.2f}x" for label, figure in over.items() if label != "tables"),
        ),
        holds(
            "HW-2: DHE's accuracy at 1,000 queries/s",
            max(offered[label].accuracy for label in ("MP-Rec", "MP-Rec by deadline alone")) > dhe - 1e-4,
            ", ".join(
                f"{label} {one.accuracy:.4f} ({one.sla_violation_share:.2%} late)" for label, one in offered.items()
            )
            + f"; DHE {dhe:.4f}",
        ),
        stated(
            "HW-2: DHE on the GPU alone over tables on the CPU",
            "above 1",
            alone,
            f"behind both caches; {served.over_base('dhe on GPU'):.2f}x without",
            unit="x",
        ),
    ]


def _most_in_sla(served: Served, plan: Plan, policy: Policy) -> float:
    """Correct predictions within the SLA per second at the best of the rates about the CPU's capacity for tables."""
    capacity_qps = MS_PER_S / float(mean_service_ms(served.plan)[_place_of(served.plan, "table@cpu")])
    found = [serve(plan, policy, qps=share * capacity_qps) for share in _RATES]
    return max(one.correct_predictions_in_sla_per_s for one in found)


def _place_of(plan: Plan, path: str) -> int:
    return [one.name for one in plan.paths].index(path)


def compiled_claims(kind: str) -> list[Claim]:
    """HW-3: an IPU beside the CPU, and what compiling each shape of inputs costs."""
    cpu, _ = Setup(hardware="mp-rec-hw3").sections
    ipu = DeviceSection(name="ipu", kind=kind)
    served = serve_setup(Setup(hardware="mp-rec-hw3", devices=(cpu, ipu)))
    table, title = served.throughputs[CPU], kind.removeprefix("ipu-").upper()
    claims = [
        stated(
            f"HW-3, {title}: MP-Rec over tables on the CPU",
            "not given",
            served.over_base(DECODED),
            "paths: " + ", ".join(path.name for path in served.plan.paths if path.device == "ipu"),
            unit="x",
        )
    ]
    label = "dhe on IPU"
    if label not in served.policies:
        return claims
    alone, shapes = served.throughputs[label], len(served.plan.paths[0].latency.sizes)
    compile_s = shapes * ipu.hardware.compile_s
    queries, names = served.plan.workload.queries, [path.name for path in served.plan.paths]
    means_ms = mean_service_ms(served.plan)
    saved_ms = means_ms[names.index("table@cpu")] - means_ms[names.index("dhe@ipu")]
    run_s = queries * means_ms[names.index("dhe@ipu")] / MS_PER_S
    repays = f"{compile_s * MS_PER_S / saved_ms:,.0f} queries repay it" if saved_ms > 0 else "it never repays"
    return [
        *claims,
        stated(f"{title}: DHE over tables on the CPU, compiled beforehand", "not given", alone / table, unit="x"),
        stated(
            f"{title}: the same with compilation",
            "excluded",
            alone / table * run_s / (run_s + compile_s),
            f"{shapes} shapes (sizes padded to powers of two) of {ipu.hardware.compile_s:.0f} s each before "
            f"{queries:,} queries; {repays}",
            unit="x",
        ),
    ]


def _up_to(size: int) -> str:
    return "the GPU is quicker at every size" if size <= 1 else f"the GPU is quicker from {size} samples on"
