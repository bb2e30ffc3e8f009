"""Numbers that the paper does not give, fitted to some that it and MP-Rec give; all else follows.

What the paper says can be read in several ways: whether transfers run beside one another or in turn, as those of one
communicator do, and at which batch the throughput was reached. Each reading has a fit of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from planner.distributed.paper_models import PAPER_MODELS, Assumptions
from tests.benchmarks.zionex_setup import NODES, Setting

__all__ = ["CHOSEN", "EXPOSED", "READINGS", "SPREAD", "Fit", "Reading", "fit_model_a", "fit_model_i"]

SPREAD = 0.5
# Hsia et al., arXiv 2302.10872, of ZionEX at 128 GPUs.
EXPOSED = 0.40
_EFFICIENCY = 0.75
_BISECTIONS = 10
_COUNTS_OF_I = (64, 72, 80, 96, 128, 144, 152)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What the paper leaves to its reader; `counts` are the numbers of tables to try.

    `batch_per_rank` is that of the published throughput, `half_message_bytes` the catalogue's where None.
    """

    name: str
    is_network_shared: bool
    batch_per_rank: int
    half_message_bytes: float | None
    counts: tuple[int, ...]


READINGS = (
    Reading(
        name="transfers beside one another, throughput at 64K",
        is_network_shared=False,
        batch_per_rank=512,
        half_message_bytes=None,
        counts=(1050, 1075, 1100, 1125),
    ),
    Reading(
        name="transfers beside one another, throughput at 256K",
        is_network_shared=False,
        batch_per_rank=2048,
        half_message_bytes=None,
        counts=(1100, 1125, 1150, 1175),
    ),
    Reading(
        name="transfers in turn, throughput at 64K",
        is_network_shared=True,
        batch_per_rank=512,
        half_message_bytes=None,
        counts=(560, 600, 630, 640),
    ),
    Reading(
        name="transfers in turn, throughput at 256K",
        is_network_shared=True,
        batch_per_rank=2048,
        half_message_bytes=None,
        counts=(920, 950, 975, 1000),
    ),
    Reading(
        name="transfers in turn, throughput at 256K, half of the bandwidth at 32 MB",
        is_network_shared=True,
        batch_per_rank=2048,
        half_message_bytes=32e6,
        counts=(880, 900, 920, 940),
    ),
    Reading(
        name="the same with 750 tables",
        is_network_shared=True,
        batch_per_rank=2048,
        half_message_bytes=32e6,
        counts=(750,),
    ),
)
CHOSEN = READINGS[4]


@dataclass(frozen=True, kw_only=True, slots=True)
class Fit:
    """The number of tables and the share of the GEMM rate at which model A has its throughput and exposed share.

    `exposed_comm_share` is that of a batch of 64K, 512 samples a device, whatever batch the throughput is of.
    """

    reading: Reading
    tables: int
    compute_share: float
    qps: float
    exposed_comm_share: float

    def applied(self, setting: Setting) -> Setting:
        """The setting with all of it, or for another model than A without the number of tables."""
        fitted = _read(self.reading, replace(setting, compute_share=self.compute_share))
        if setting.model != "A":
            return fitted
        return replace(fitted, assumptions=replace(setting.assumptions, tables=self.tables))

    def finished(self, setting: Setting) -> Setting:
        """The setting at the batch of the published throughput."""
        return replace(setting, batch_per_rank=self.reading.batch_per_rank)


@lru_cache(maxsize=8)
def fit_model_a(reading: Reading = CHOSEN, counts: Sequence[int] = ()) -> Fit:
    """Of these numbers of tables, the one whose exposed share is nearest where the throughput is the published one."""
    wanted = PAPER_MODELS["A"].published_qps or 0.0
    fits = []
    for count in counts or reading.counts:
        setting = _read(reading, Setting(assumptions=Assumptions(tables=count, spread=SPREAD)))
        reached = _slowed(replace(setting, batch_per_rank=reading.batch_per_rank), wanted)
        if reached is not None:
            share = replace(reached, batch_per_rank=512).time.exposed_comm_share
            fits.append(
                Fit(
                    reading=reading,
                    tables=count,
                    compute_share=reached.compute_share,
                    qps=reached.time.qps,
                    exposed_comm_share=share,
                )
            )
    return min(fits, key=lambda fit: abs(fit.exposed_comm_share - EXPOSED))


@lru_cache(maxsize=2)
def fit_model_i(reading: Reading = CHOSEN) -> Setting:
    """Model I with its recalled throughput and, of these numbers of tables, the scaling nearest to the published one.

    The throughput is that of the reading's batch, the scaling and the setting are of 64K.
    """
    wanted = PAPER_MODELS["I"].recalled_qps or 0.0
    found = []
    for count in _COUNTS_OF_I:
        setting = _read(reading, Setting(model="I", assumptions=Assumptions(tables=count, spread=SPREAD)))
        reached = _slowed(replace(setting, batch_per_rank=reading.batch_per_rank), wanted)
        if reached is not None:
            found.append(replace(reached, batch_per_rank=512))
    return min(found, key=lambda one: abs(_efficiency(one) - _EFFICIENCY))


def _read(reading: Reading, setting: Setting) -> Setting:
    return replace(setting, is_network_shared=reading.is_network_shared, half_message_bytes=reading.half_message_bytes)


def _slowed(setting: Setting, wanted_qps: float) -> Setting | None:
    """With layers so slow that the throughput is no more than wanted; None where it is less at their full rate."""
    if setting.time.qps < wanted_qps:
        return None
    low, high = 0.02, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        slower = replace(setting, compute_share=middle).time.qps < wanted_qps
        low, high = (middle, high) if slower else (low, middle)
    return replace(setting, compute_share=high)


def _efficiency(setting: Setting) -> float:
    return setting.time.qps / replace(setting, nodes=1).time.qps / NODES
