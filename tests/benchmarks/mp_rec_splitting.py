"""Queries split evenly over the CPU and the GPU: what it brings tables, and what it costs MP-Rec."""

from profiles.units import MS_PER_S
from serving_sim.plan import Plan
from serving_sim.policies import Split
from tests.benchmarks.mp_rec_claim import Claim, holds
from tests.benchmarks.mp_rec_serving import CPU, DECODED, SWITCH, Served
from tests.benchmarks.mp_rec_setup import serve, services_ms

__all__ = ["split_claims", "split_throughput"]

# Above what halves can be served at, so that queries wait, and not so far that the waiting room ends.
_OVERLOAD = 1.2


def split_claims(served: Served) -> list[Claim]:
    """Throughput and lateness of even halves beside those of whole queries, Kaggle."""
    halves = {name: split_throughput(served.decoded, name) for name in ("table", "dhe", "hybrid")}
    table, mp_rec = served.throughputs[CPU], served.throughputs[DECODED]
    qps, plan = served.late_qps, served.decoded
    late = {name: serve(plan, Split(representation=name), qps=qps).sla_violation_share for name in ("table", "hybrid")}
    whole = {label: served.serve(label, qps=qps).sla_violation_share for label in (CPU, DECODED)}
    return [
        holds(
            "an even split helps tables",
            halves["table"] > table and late["table"] < whole[CPU],
            f"{halves['table'] / table:.2f}x the throughput of tables on the CPU, {late['table']:.2%} late instead of "
            f"{whole[CPU]:.2%}; switching has {served.over_base(SWITCH):.2f}x",
        ),
        holds(
            "an even split hurts MP-Rec",
            max(halves.values()) < mp_rec and late["hybrid"] > whole[DECODED],
            "halves of "
            + ", ".join(f"{name} {rate / mp_rec:.2f}x" for name, rate in halves.items())
            + f" of MP-Rec's throughput; halves of hybrids {late['hybrid']:.2%} late instead of {whole[DECODED]:.2%}",
        ),
    ]


def split_throughput(plan: Plan, representation: str) -> float:
    """Correct predictions per second where halves always wait."""
    names = [place for place, path in enumerate(plan.paths) if path.representation == representation]
    slower_ms = services_ms(plan, parts=2).mean(axis=0)[names].max()
    found = serve(plan, Split(representation=representation), qps=_OVERLOAD * MS_PER_S / float(slower_ms))
    return found.correct_predictions_per_s
