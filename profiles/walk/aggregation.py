"""A parent's figures from its children's."""

from collections.abc import Mapping, Sequence

from profiles.profilers.protocol import Figure
from profiles.records import Latency

__all__ = ["add_figures", "add_latencies", "max_of", "scale_latency", "sum_of"]


def add_latencies(latencies: Sequence[Latency | None]) -> Latency | None:
    """Latencies one after another; the summed IQR is an upper bound of the spread. None where there is none to add.

    Medians and quartiles add up exactly only for steady parts, which is why such rows are marked `aggregated`.
    """
    known = [latency for latency in latencies if latency is not None]
    if not known:
        return None
    cpu = [latency.cpu_ms for latency in known if latency.cpu_ms is not None]
    ratios = [latency.wall_over_cpu for latency in known if latency.wall_over_cpu is not None]
    return Latency(
        p25_ms=sum(latency.p25_ms for latency in known),
        median_ms=sum(latency.median_ms for latency in known),
        iqr_ms=sum(latency.iqr_ms for latency in known),
        n=min(latency.n for latency in known),
        visits=min(latency.visits for latency in known),
        cpu_ms=sum(cpu) if len(cpu) == len(known) else None,
        wall_over_cpu=max(ratios, default=None),
    )


def scale_latency(latency: Latency, calls: float) -> Latency:
    """The latency of that many equal calls, a fraction where batches are weighted."""
    return Latency(
        p25_ms=latency.p25_ms * calls,
        median_ms=latency.median_ms * calls,
        iqr_ms=latency.iqr_ms * calls,
        n=latency.n,
        visits=latency.visits,
        cpu_ms=None if latency.cpu_ms is None else latency.cpu_ms * calls,
        wall_over_cpu=latency.wall_over_cpu,
    )


def sum_of(values: Sequence[float | None]) -> float | None:
    """The sum of the known values: a lower bound where some are not known, None where none is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def max_of(values: Sequence[int | None]) -> int | None:
    """The greatest of the known values: a lower bound of what parts need together, None where none is known."""
    return max((value for value in values if value is not None), default=None)


def add_figures(children: Sequence[Mapping[str, float | None]], figures: Sequence[Figure]) -> Mapping[str, float]:
    """What profilers found of the children, by name, each figure added up as it says; not those that are not to be."""
    added: dict[str, float] = {}
    for figure in figures:
        values = [value for child in children if (value := child.get(figure.name)) is not None]
        if values and figure.aggregation != "none":
            added[figure.name] = sum(values) if figure.aggregation == "sum" else max(values)
    return added
