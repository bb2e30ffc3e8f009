"""Claims about memory: model F's 96 and 24 TB, its fit into HBM and DDR, and HBM as a cache."""

from dataclasses import replace

import numpy as np

from planner.distributed import EmbeddingTable, get_cluster, total_bytes
from planner.distributed.hbm_cache import LoggedReuse, ZipfReuse, lru_hit_rate
from planner.distributed.paper_models import Assumptions, paper_tables
from planner.distributed.sharding import plan_sharding
from profiles.errors import InfeasibleError, InputError
from representations.datasets.access_log import SCARAB, load_access_log
from representations.datasets.stack_distance import stack_distances
from representations.zipf import fit_exponent
from tests.benchmarks.zionex_row import Row
from tests.benchmarks.zionex_setup import Setting

__all__ = ["cache_figures", "memory_rows"]

_ENTRIES = (256, 1024, 2048, 4096, 8192, 16384, 32768, 65536)
_TB = 1e12


def memory_rows() -> list[Row]:
    """What model F takes, and where it lies."""
    lean = paper_tables("F")
    fat = tuple(replace(table, dtype="float32", optimizer="adagrad") for table in lean)
    cluster = get_cluster("zionex")
    room = {tier.name: cluster.tier_bytes(tier.name) / _TB for tier in cluster.tiers}
    plan = Setting(model="F", assumptions=Assumptions()).plan
    held = {tier.name: plan.rank_bytes(tier.name).sum() / _TB for tier in cluster.tiers}
    section = "Memory of model F"
    return [
        Row(
            section=section,
            claim="tables in float32 with a state per weight",
            paper=96.0,
            ours=total_bytes(fat) / _TB,
            unit="TB",
            rests_on="12 trillion parameters, published",
        ),
        Row(
            section=section,
            claim="tables in float16 with row-wise Adagrad",
            paper=24.0,
            ours=total_bytes(lean) / _TB,
            unit="TB",
            rests_on="dim 256 (recalled): the state is 4 bytes a row",
        ),
        Row(
            section=section,
            claim=f"24 TB fit into {room['hbm']:.1f} TB of HBM and {room['ddr']:.0f} TB of DDR",
            paper="holds",
            ours="holds",
            rests_on="64 tables cut by rows; 32 of 40 GB of HBM usable, as published",
            note=f"planned: {held['hbm']:.1f} TB in HBM, {held['ddr']:.1f} TB in DDR",
        ),
        Row(
            section=section,
            claim="96 TB do not",
            paper="holds",
            ours="holds" if (refused := _refusal(fat)) else "does not hold",
            rests_on="the same",
            note=refused,
        ),
        *_cached_rows(section),
    ]


def _refusal(tables: tuple[EmbeddingTable, ...]) -> str:
    """What the planner says, to its first colon; empty where it makes a plan."""
    try:
        plan_sharding(tables, get_cluster("zionex"), batch_per_rank=512)
    except (InfeasibleError, InputError) as error:
        return str(error).split(";")[0][:160]
    return ""


def _cached_rows(section: str) -> list[Row]:
    """What HBM left over does as a cache over DDR, by the skew of ids."""
    rows = []
    for zipf in (None, 0.8, 1.05):
        setting = Setting(model="F", assumptions=Assumptions(zipf=zipf))
        time = setting.time
        rate = float(np.mean(list(time.hit_rates.values())))
        fetched = time.phase("fetch rows from ddr")
        ids = "evenly drawn ids" if zipf is None else f"ids of Zipf exponent {zipf:g}"
        rows.append(
            Row(
                section=section,
                claim=f"hits in the HBM left over, {ids}",
                paper="not given",
                ours=rate,
                unit="%",
                rests_on="the skew of ids, which is not published",
                note=f"fetching the misses takes {fetched.max_ms if fetched else 0:.1f} ms of "
                f"{time.iteration_ms:.1f} and is hidden: {time.qps / 1e6:.2f} MQPS",
            )
        )
    return rows


def cache_figures() -> list[dict[str, float]]:
    """Hit rates of an LRU cache of `entries`: replayed exactly, and predicted in three ways.

    `predicted` from the whole log's reuse times; `second_half` replayed after the first beside `forecast`, from
    the first half alone; `independent` by Zipf's law with the exponent of the log's counts (Che).
    """
    log_N = load_access_log(SCARAB)
    half = len(log_N) // 2
    distances_N = stack_distances(log_N)
    whole, first = LoggedReuse.from_log(log_N), LoggedReuse.from_log(log_N[:half], skip=half // 2)
    counts = np.unique(log_N, return_counts=True)[1]
    zipf = ZipfReuse(rows=len(counts), exponent=fit_exponent(counts))

    def replayed(entries: int, start: int) -> float:
        part_N = distances_N[start:]
        return float(np.mean((part_N >= 0) & (part_N < entries)))

    return [
        {
            "entries": entries,
            "replayed": replayed(entries, 0),
            "predicted": lru_hit_rate(whole, entries),
            "second_half": replayed(entries, half),
            "forecast": lru_hit_rate(first, entries),
            "independent": lru_hit_rate(zipf, entries),
        }
        for entries in _ENTRIES
    ]
