"""Two numbers that the paper does not give, fitted to two that it and MP-Rec give of model A; all else follows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from planner.distributed.paper_models import PAPER_MODELS, Assumptions
from tests.benchmarks.zionex_setup import Setting

__all__ = ["EXPOSED", "SPREAD", "Fit", "fit_model_a"]

SPREAD = 0.5
# Hsia et al., arXiv 2302.10872, of ZionEX at 128 GPUs.
EXPOSED = 0.40
_BISECTIONS = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class Fit:
    """The number of tables and the share of the GEMM rate at which model A has its throughput and exposed share."""

    tables: int
    compute_share: float
    qps: float
    exposed_comm_share: float

    def applied(self, setting: Setting) -> Setting:
        """The setting with both, or for another model than A with the compute share alone."""
        fitted = replace(setting, compute_share=self.compute_share)
        if setting.model != "A":
            return fitted
        return replace(fitted, assumptions=replace(setting.assumptions, tables=self.tables))


@lru_cache(maxsize=4)
def fit_model_a(counts: Sequence[int]) -> Fit:
    """Of these numbers of tables, the one whose exposed share is nearest where the throughput is the published one."""
    wanted = PAPER_MODELS["A"].published_qps or 0.0
    fits = [_fit_compute(count, wanted) for count in counts]
    return min(fits, key=lambda fit: abs(fit.exposed_comm_share - EXPOSED))


def _fit_compute(tables: int, wanted_qps: float) -> Fit:
    low, high = 0.05, 1.0
    setting = Setting(assumptions=Assumptions(tables=tables, spread=SPREAD))
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        slower = replace(setting, compute_share=middle).time.qps < wanted_qps
        low, high = (middle, high) if slower else (low, middle)
    time = replace(setting, compute_share=high).time
    return Fit(tables=tables, compute_share=high, qps=time.qps, exposed_comm_share=time.exposed_comm_share)
