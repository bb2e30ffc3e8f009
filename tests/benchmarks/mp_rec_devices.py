"""What the paper says of representations on devices, one query at a time: slowdowns, accelerators, caches, energy."""

from collections.abc import Mapping

import numpy as np

from planner.mapping.preset_plans import MP_REC_ZIPF, DataSet, mp_rec_candidates
from profiles.hardware import get_hardware
from profiles.units import MS_PER_S, format_bytes
from representations.specs import ModelSpec
from serving_sim.plan import Path, Plan
from tests.benchmarks.mp_rec_caches import MpCache, zipf_hit_rate
from tests.benchmarks.mp_rec_claim import Claim, holds, ratio, stated
from tests.benchmarks.mp_rec_setup import Setup, kind_latency_ms

__all__ = ["DECODER", "ENCODER", "ENERGY_KINDS", "cache_claims", "device_claims", "energy_claims", "energy_rows"]

MEAN_SIZE, LARGEST_SIZE = 128, 4096
# The default batch of the authors' published code.
_AUTHORS_SIZE = 16
_SLOWER = {"dhe-1024": "DHE", "select-3": "select (3 features)", "hybrid-1024": "hybrid"}
_PAPER_SLOWDOWN = {
    "cpu": {"dhe-1024": 10.5, "select-3": 2.1, "hybrid-1024": 11.2},
    "gpu": {"dhe-1024": 4.7, "select-3": 1.5, "hybrid-1024": 5.4},
}
ENCODER, DECODER = 2_000_000, 64
_SMALL_ENCODER = 2_048
ENERGY_KINDS = ("xeon-e5-2680v4", "v100", "tpuv3-chip", "tpuv3-board", "ipu-gc200", "ipu-m2000", "ipu-pod16")


def device_claims(setup: Setup) -> list[Claim]:
    """Slowdowns over tables on the same device, and accelerators over tables on the processor."""
    found = {
        (device, name): {size: setup.slowdown(name, device, size) for size in (_AUTHORS_SIZE, MEAN_SIZE, LARGEST_SIZE)}
        for device in ("cpu", "gpu")
        for name in _SLOWER
    }
    claims = [
        ratio(
            f"slowdown over tables, {device.upper()}: {_SLOWER[name]}",
            _PAPER_SLOWDOWN[device][name],
            at[MEAN_SIZE],
            f"{at[_AUTHORS_SIZE]:.1f}x at {_AUTHORS_SIZE} samples, {at[LARGEST_SIZE]:.1f}x at {LARGEST_SIZE}",
        )
        for (device, name), at in found.items()
    ]
    middle = {key: at[MEAN_SIZE] for key, at in found.items()}
    for device in ("cpu", "gpu"):
        select, dhe, hybrid = (middle[device, name] for name in ("select-3", "dhe-1024", "hybrid-1024"))
        claims.append(holds(f"order on the {device.upper()}: table, select, DHE, hybrid", 1 < select < dhe < hybrid))
    claims.append(
        holds("every slowdown is larger on the CPU", all(middle["cpu", n] > middle["gpu", n] for n in _SLOWER))
    )
    return [*claims, *_accelerator_claims(setup)]


def _accelerator_claims(setup: Setup) -> list[Claim]:
    tables, dhe = setup.table, setup.specs["dhe-1024"]
    pairs = (
        ("TPUv3 chip, tables, over tables on the CPU", 3.12, tables, "tpuv3-chip"),
        ("TPUv3 board, tables, over tables on the CPU", 11.13, tables, "tpuv3-board"),
        ("IPU-POD16, DHE, over tables on the CPU", 16.65, dhe, "ipu-pod16"),
    )
    cpu_ms = {size: float(setup.latency_ms(tables.name, "cpu", (size,))[0]) for size in (MEAN_SIZE, LARGEST_SIZE)}
    gains = {}
    claims = []
    for claim, paper, spec, kind in pairs:
        gains[kind] = {size: cpu_ms[size] / kind_latency_ms(spec, kind, size) for size in cpu_ms}
        beside = f"{gains[kind][MEAN_SIZE]:.2f}x at {MEAN_SIZE}"
        note = f"at {LARGEST_SIZE:,} samples, as the paper's batches are not given; {beside}"
        claims.append(ratio(claim, paper, gains[kind][LARGEST_SIZE], note))
    order = [gains[kind][LARGEST_SIZE] for kind in ("tpuv3-chip", "tpuv3-board", "ipu-pod16")]
    power = get_hardware("tpuv3-chip").tdp_w, get_hardware("v100").tdp_w
    return [
        *claims,
        holds("order of the accelerators: TPU chip, TPU board, IPU pod", order == sorted(order)),
        stated("power of a TPUv3 chip over a V100", 1.8, (power[0] or 0) / (power[1] or 1), "catalogue", unit="x"),
    ]


def cache_claims(setup: Setup) -> list[Claim]:
    """How much sooner a DHE is done behind its caches, at the mean query size and the expected share of hits."""
    features = setup.table.features
    bare = setup.plan
    small, large, decoder, both = (
        setup.cached(MpCache(encoder_bytes=_SMALL_ENCODER)),
        setup.cached(MpCache(encoder_bytes=ENCODER)),
        setup.cached(MpCache(centroids=DECODER)),
        setup.cached(MpCache(encoder_bytes=ENCODER, centroids=DECODER)),
    )
    claims = []
    for device in ("cpu", "gpu"):
        base_ms = _dhe_ms(bare, device)
        for paper, plan, cache_bytes in ((1.57, small, _SMALL_ENCODER), (1.92, large, ENCODER)):
            entries = plan.caches[0].entries_per_feature if plan.caches else 0
            hits = zipf_hit_rate(features, entries, MP_REC_ZIPF)
            claims.append(
                ratio(
                    f"encoder cache of {format_bytes(cache_bytes)}: speed-up of DHE, {device.upper()}",
                    paper,
                    base_ms / _dhe_ms(plan, device),
                    f"{hits:.0%} of look-ups hit, {entries} entries per feature",
                )
            )
        table_ms = float(setup.latency_ms(setup.table.name, device, (MEAN_SIZE,))[0])
        claims.append(ratio(f"DHE over tables before the decoder cache, {device.upper()}", 5.0, base_ms / table_ms))
        after = _dhe_ms(decoder, device) / table_ms
        behind_both = _dhe_ms(both, device) / table_ms
        claims.append(
            stated(
                f"DHE over tables behind the decoder cache ({DECODER} centroids), {device.upper()}",
                1.0,
                after,
                f"{behind_both:.2f}x behind both caches",
                unit="x",
            )
        )
        claims.append(
            holds(f"the decoder cache brings DHE nearer to tables, {device.upper()}", after < base_ms / table_ms)
        )
    return claims


def _dhe_ms(plan: Plan, device: str) -> float:
    path = next(path for path in plan.paths if path.representation == "dhe" and path.device == device)
    return _expected_ms(path, plan)


def _expected_ms(path: Path, plan: Plan) -> float:
    at = path.latency.sizes.index(MEAN_SIZE)
    if not path.cache or not plan.caches[0].hit_rate:
        return path.latency.mean_ms[at]
    rows = [row[at] for row in path.latency.mean_by_miss_share_ms]
    return float(np.interp(1 - plan.caches[0].hit_rate.rates[0], path.latency.miss_shares, rows))


def energy_rows(data: DataSet) -> list[dict[str, float | str]]:
    """Correct predictions per joule of busy devices by representation, at two sizes; power is the published maximum."""
    rows: list[dict[str, float | str]] = []
    for name in ("table", "dhe-1024", "hybrid-1024"):
        one = next(one for one in mp_rec_candidates(data) if one.name.startswith(name))
        for kind in ENERGY_KINDS:
            row: dict[str, float | str] = {"data": data, "representation": one.representation, "kind": kind}
            watts = get_hardware(kind).tdp_w or 0.0
            for size in (MEAN_SIZE, LARGEST_SIZE):
                joules = watts * kind_latency_ms(one.model, kind, size) / MS_PER_S
                row[f"per_j_{size}"] = size * one.accuracy / joules
            row["fits_on_chip"] = _fits(one.model, kind)
            rows.append(row)
    return rows


def energy_claims(rows: list[dict[str, float | str]]) -> list[Claim]:
    """Which device is best for what."""
    best = {
        (data, representation): _best(rows, str(data), representation)
        for data in ("kaggle", "terabyte")
        for representation in ("table", "dhe")
    }
    names: Mapping[tuple[str, str], str] = best
    return [
        holds(
            "correct predictions per joule, large tables (Terabyte): the GPU is best",
            names["terabyte", "table"] == "v100",
            f"ours: {names['terabyte', 'table']}; at {LARGEST_SIZE:,} samples, published maximum powers",
        ),
        holds(
            "correct predictions per joule, DHE that fits (Kaggle): an IPU is best",
            names["kaggle", "dhe"].startswith("ipu"),
            f"ours: {names['kaggle', 'dhe']}",
        ),
        holds("no device is best everywhere", len(set(names.values())) > 1),
    ]


def _best(rows: list[dict[str, float | str]], data: str, representation: str) -> str:
    here = [row for row in rows if (row["data"], row["representation"]) == (data, representation)]
    return str(max(here, key=lambda row: float(row[f"per_j_{LARGEST_SIZE}"]))["kind"])


def _fits(model: ModelSpec, kind: str) -> str:
    fast = get_hardware(kind).on_chip_bytes
    return "" if not fast else "yes" if model.parameter_bytes <= fast else "no"
