"""The spaces of a calibration: whatever a recommendation model of usual size may be made of."""

from collections.abc import Iterable, Mapping

from planner.cost_model.sampling.space import BATCH, Dimension, SamplingSpace, Size, natural_sizes
from profiles.errors import UnknownNameError
from representations.phases import DENSE_OPTIMIZERS, ROW_WISE_ADAGRAD

__all__ = ["calibration_spaces"]

_LARGEST_BATCH = 8192
_WIDTHS = natural_sizes(1, 2048)
_DIMS = (2, 4, 8, 16, 32, 64, 128)
_ROWS = natural_sizes(16, 2_000_000)
_POOLING = (1.0, 2.0, 5.0, 20.0)
_ZIPF = (0.0, 0.4, 0.8, 1.0, 1.2, 1.5)
# Activations that pass between two runs of a table: see `planner.cost_model.traffic`.
_TRAFFIC_BYTES = (0, 2**20, 2**22, 2**24, 2**26)
_TABLES = (1, 2, 4, 8, 16, 26)
_FUNCTIONS = ("relu", "mish", "sigmoid", "batch_norm", "add", "multiply")


def calibration_spaces(
    kinds: Iterable[str] | None = None,
    *,
    training: bool = False,
    copies: bool = False,
    what: str = "component kind",
) -> tuple[SamplingSpace, ...]:
    """Spaces of every family that a calibration measures, or of some kinds; with their training passes if wanted.

    The trip of ids to a device, on which predictions of accelerators rest, is measured with `copies` or where its kind
    is named. `what` is the option that complaints name.

    Raises:
        UnknownNameError: there is no space of that kind.
    """
    usual = (*_forward(), *(_training() if training else ()))
    if kinds is None:
        return (*usual, *(_copies() if copies else ()))
    spaces, wanted = (*usual, *_copies()), tuple(kinds)
    known = {space.kind for space in spaces}
    for kind in wanted:
        if kind not in known:
            raise UnknownNameError(what, kind, known)
    return tuple(space for space in spaces if space.kind in wanted)


def _forward() -> tuple[SamplingSpace, ...]:
    dense = {"in_features": _WIDTHS, "out_features": _WIDTHS}
    table: dict[str, tuple[Size, ...]] = {"rows": _ROWS, "dim": _DIMS, "pooling": _POOLING, "zipf": _ZIPF}
    table["context_bytes"] = _TRAFFIC_BYTES
    hashes = natural_sizes(8, 1024)
    # Gaussian values come in pairs.
    pairs = tuple(k for k in hashes if k % 2 == 0)
    return (
        _space("linear", dense),
        *(_space("elementwise", {"width": _WIDTHS}, function=function) for function in _FUNCTIONS),
        _space("elementwise", {"width": _DIMS, "pooling": (2.0, 5.0, 20.0)}, function="sum_pool"),
        _space("embedding", table, backend="torch"),
        *(_space("embedding_group", {**table, "tables": _TABLES}, backend=name) for name in ("torchrec", "fbgemm")),
        _space("dhe_encoder", {"k": hashes, "rows": (10**6,)}, transform="uniform"),
        _space("dhe_encoder", {"k": pairs, "rows": (10**6,)}, transform="gaussian"),
        _space("interaction", {"vectors": natural_sizes(2, 32), "dim": _DIMS}, function="dot"),
        _space("interaction", {"vectors": natural_sizes(2, 32), "width": _WIDTHS[8:]}, function="concat"),
        _space("interaction", {"width": _WIDTHS[3:]}, function="fm"),
        _space("concat", {"parts": natural_sizes(2, 32), "width": _WIDTHS[8:]}),
        _space("projection", {"in_features": _DIMS, "out_features": _DIMS}),
        _space("id_split", {}),
        _space("id_map", {"rows": _ROWS}),
        _space(
            "robe",
            {"floats": (10**4, 10**5, 10**6), "block": (1, 4, 8), "dim": _DIMS[2:], "rows": _ROWS[20:], "zipf": _ZIPF},
        ),
    )


def _training() -> tuple[SamplingSpace, ...]:
    dense = {"in_features": _WIDTHS, "out_features": _WIDTHS}
    table: dict[str, tuple[Size, ...]] = {"rows": _ROWS, "dim": _DIMS, "pooling": _POOLING, "zipf": _ZIPF}
    return (
        _space("linear", {**dense, "input_gradient": (0, 1)}, phase="backward"),
        *(_space("elementwise", {"width": _WIDTHS}, phase="backward", function=name) for name in ("relu", "mish")),
        _space("embedding", table, phase="backward", backend="torch"),
        _space("interaction", {"vectors": natural_sizes(2, 32), "dim": _DIMS}, phase="backward", function="dot"),
        *(_space("linear", dense, 1, phase="optimizer", optimizer=name) for name in DENSE_OPTIMIZERS),
        _space("embedding", table, phase="optimizer", backend="torch", optimizer=ROW_WISE_ADAGRAD),
    )


def _copies() -> tuple[SamplingSpace, ...]:
    sizes = {"tables": _TABLES, "ids_per_table": natural_sizes(1, 8192)}
    return tuple(_space("host_to_device", sizes, layout=layout) for layout in ("combined", "per_table"))


def _space(
    kind: str,
    sizes: Mapping[str, tuple[Size, ...]],
    largest_batch: int = _LARGEST_BATCH,
    *,
    phase: str = "forward",
    **text: str,
) -> SamplingSpace:
    return SamplingSpace(
        kind=kind,
        dimensions=(
            Dimension(name=BATCH, values=natural_sizes(1, largest_batch)),
            *(Dimension(name=name, values=tuple(values)) for name, values in sizes.items()),
        ),
        text=tuple(sorted(text.items())),
        phase=phase,
    )
