"""Latencies of very many candidates at once: each distinct part is priced once, and gathered by column.

There is no loop over candidates: 1e5 of them cost as many array look-ups as they have features. Array suffixes:
N candidates, F features, R parts, C columns.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.candidates import Candidates, DenseSpec, Index, candidates_of
from planner.cost_model.composition import CostModel
from planner.cost_model.context import IDENTITY, Context
from planner.cost_model.estimates import Floats, HasResidencyLimits
from planner.cost_model.features import BYTES_PER_MIB
from planner.cost_model.host_inputs import inputs_of
from planner.cost_model.parts import (
    COLUMNS,
    FAMILIES,
    LATENCIES,
    Part,
    PartPrices,
    dense_part,
    embedding_part,
    group_part,
    grouped_as,
)
from planner.cost_model.pass_counts import PassCounts
from planner.cost_model.traffic import context_bytes_of, kept_share
from profiles.errors import InputError
from profiles.units import MS_PER_S
from representations.specs import EmbeddingSpec, Feature, ModelSpec, RobeSpec, TableSpec

__all__ = ["CandidateCosts", "CandidatePredictor", "predict_candidates"]

# Sums of so many candidates stay in the processor's caches.
_CHUNK = 4096
# Of the whole numbers as which sets of features are compared.
_BITS = 32
Zipf = Mapping[str, float] | float


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CandidateCosts:
    """Costs of N candidates at one batch, each of shape [N]; `flops` is per sample, as is that of a search.

    `energy_j` is modelled as busy power times latency, None where the power is unknown.
    """

    device: str
    batch: int
    mean_ms: Floats
    low_ms: Floats
    high_ms: Floats
    extrapolated: NDArray[np.bool_]
    flops: Floats
    parameter_bytes: NDArray[np.int64]
    energy_j: Floats | None


def predict_candidates(
    cost_model: CostModel,
    candidates: Candidates | Sequence[ModelSpec],
    batches: Sequence[int],
    device: str,
    zipf: Zipf = 0.0,
) -> tuple[CandidateCosts, ...]:
    """The costs of all candidates at each batch, equal to `CostModel.predict_model`'s of each.

    For more than one call make a `CandidatePredictor` per batch, which keeps what it has priced.

    Raises:
        InputError: no batch, or a candidate that makes no model.
        UnknownNameError: an unknown device, or a component that its model has never seen.
    """
    if not batches:
        raise InputError("candidates: needs at least one batch")
    columns = candidates if isinstance(candidates, Candidates) else candidates_of(candidates)
    return tuple(CandidatePredictor(cost_model, device, batch, zipf).predict(columns) for batch in batches)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Slot:
    """A choice that all candidates make: part `lookup[chosen_N]`, counted among `parts`."""

    parts: tuple[Part, ...]
    lookup: Index
    chosen_N: Index


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Layout:
    """All slots together: `lookups` of a slot begin at `starts`, and point into all `parts`. Suffix: S slots."""

    parts: tuple[Part, ...]
    lookups: Index
    starts_S: Index
    embedding_NF: Index
    others: tuple[Index, ...]

    def places(self, rows: slice | Index) -> Index:
        """[N, S]: the parts of some of the candidates."""
        chosen = self.embedding_NF[rows]
        if self.others:
            chosen = np.concatenate((chosen, np.stack([chosen_N[rows] for chosen_N in self.others], axis=1)), axis=1)
        return self.lookups.take(chosen + self.starts_S)


def _layout(slots: Sequence[_Slot], embedding_NF: Index) -> _Layout:
    """Of the features' slots, in order, and others after them."""
    firsts = np.cumsum([0, *(len(slot.parts) for slot in slots)])
    return _Layout(
        parts=tuple(part for slot in slots for part in slot.parts),
        lookups=np.concatenate([slot.lookup + first for slot, first in zip(slots, firsts.tolist(), strict=False)]),
        starts_S=np.cumsum([0, *(len(slot.lookup) for slot in slots)])[:-1],
        embedding_NF=embedding_NF,
        others=tuple(slot.chosen_N for slot in slots[embedding_NF.shape[1] :]),
    )


class CandidatePredictor:
    """Predicts candidates at one batch on one device; parts that it has priced once are not priced again."""

    def __init__(self, cost_model: CostModel, device: str, batch: int, zipf: Zipf = 0.0) -> None:
        self._device, self._batch, self._zipf = device, batch, zipf
        self._model, self._work = cost_model.device(device), cost_model.work
        self._context: Context = cost_model.contexts.get(device, IDENTITY)
        self._prices: dict[int, PartPrices] = {}
        self._embeddings: dict[Feature, dict[EmbeddingSpec, Part]] = {}
        self._groups: dict[tuple[tuple[Feature, ...], TableSpec], dict[bytes, Part]] = {}
        self._dense: dict[tuple[tuple[Feature, ...], int], dict[tuple[DenseSpec, int], Part]] = {}

    def predict(self, candidates: Candidates) -> CandidateCosts:
        """The costs of each.

        Raises:
            InputError: a candidate that makes no model.
            UnknownNameError: a component that the device's model has never seen.
        """
        layout = _layout(self._slots(candidates), candidates.embedding_NF)
        shared_N = _shared_bytes(candidates)
        sums_NC = np.empty((len(candidates), len(COLUMNS)))
        for held_bytes, rows in self._residents(layout, shared_N):
            prices = self._prices.get(held_bytes)
            if prices is None:
                prices = PartPrices(self._model, self._work, held_bytes, self._context)
                self._prices[held_bytes] = prices
            _gather(layout, prices, rows, sums_NC, with_families=self._context.per_family_ms > 0)
        return self._costs(candidates, sums_NC, shared_N)

    def _slots(self, candidates: Candidates) -> list[_Slot]:
        offered, features = len(candidates.embeddings), candidates.features
        chosen = candidates.embedding_NF + offered * np.arange(len(features))
        counts_FE = np.bincount(chosen.reshape(-1), minlength=offered * len(features)).reshape(-1, offered)
        slots = [
            self._feature_slot(candidates, place, np.flatnonzero(counts_E)) for place, counts_E in enumerate(counts_FE)
        ]
        groups = {group: None for spec in candidates.embeddings if (group := grouped_as(spec))}
        slots += [self._group_slot(candidates, group) for group in groups]
        return [*slots, self._dense_slot(candidates)]

    def _feature_slot(self, candidates: Candidates, place: int, used: Index) -> _Slot:
        feature = candidates.features[place]
        known = self._embeddings.setdefault(feature, {})
        chosen = [candidates.embeddings[i] for i in used.tolist()]
        for spec in chosen:
            if spec not in known:
                known[spec] = embedding_part(feature, spec, self._batch, self._zipf, self._work)
        parts = [known[spec] for spec in chosen]
        lookup = _places_of(used, len(candidates.embeddings))
        return _Slot(parts=tuple(parts), lookup=lookup, chosen_N=candidates.embedding_NF[:, place])

    def _group_slot(self, candidates: Candidates, group: TableSpec) -> _Slot:
        """One part for each set of features whose tables are looked up together; none of them is a part too."""
        is_member = np.array([spec == group for spec in candidates.embeddings])
        sets_NF = is_member[candidates.embedding_NF]
        first_R, chosen_N = _distinct_sets(sets_NF)
        known = self._groups.setdefault((candidates.features, group), {})
        parts = []
        for set_F in sets_NF[first_R]:
            key = set_F.tobytes()
            if key not in known:
                known[key] = self._group(candidates.features, group, set_F)
            parts.append(known[key])
        return _Slot(parts=tuple(parts), lookup=np.arange(len(parts)), chosen_N=chosen_N)

    def _group(self, features: Sequence[Feature], group: TableSpec, set_F: NDArray[np.bool_]) -> Part:
        members = tuple(feature for feature, is_in in zip(features, set_F.tolist(), strict=True) if is_in)
        if not members:
            return Part(components=(), containers=0, flops=0.0, parameter_bytes=0)
        return group_part(members, group, self._batch, self._zipf)

    def _dense_slot(self, candidates: Candidates) -> _Slot:
        """Dense parts depend on the embeddings by the sum of their widths alone: one candidate speaks for all alike."""
        span = int(candidates.widths_N.max(initial=0)) + 1
        chosen_N = candidates.dense_N * span + candidates.widths_N
        used = np.flatnonzero(np.bincount(chosen_N))
        lookup = _places_of(used, len(candidates.dense) * span)
        speaker = np.zeros(len(lookup), dtype=np.intp)
        speaker[chosen_N] = np.arange(len(candidates))
        known = self._dense.setdefault((candidates.features, candidates.dense_features), {})
        keys = [(candidates.dense[one // span], one % span) for one in used.tolist()]
        for key, place in zip(keys, speaker[used].tolist(), strict=True):
            if key not in known:
                spec = candidates.model(place, name="candidate")
                known[key] = dense_part(spec, self._batch, self._zipf, self._work)
        parts = [known[key] for key in keys]
        return _Slot(parts=tuple(parts), lookup=lookup, chosen_N=chosen_N)

    def _residents(self, layout: _Layout, shared_N: Floats) -> Iterator[tuple[int, Index | None]]:
        """What the device holds, and the candidates for which that stands; None for all of them."""
        limits = self._model.residency_limits if isinstance(self._model, HasResidencyLimits) else ()
        if not limits:
            yield 0, None
            return
        bytes_R = np.array([part.parameter_bytes for part in layout.parts], dtype=np.float64)
        bytes_N = shared_N + bytes_R[layout.places(slice(None))].sum(axis=1)
        class_N = np.searchsorted(np.array(limits, dtype=np.float64), bytes_N)
        for one in np.flatnonzero(np.bincount(class_N)).tolist():
            held_bytes = limits[one] if one < len(limits) else limits[-1] + 1
            yield held_bytes, np.flatnonzero(class_N == one)

    def _costs(self, candidates: Candidates, sums_NC: Floats, shared_N: Floats) -> CandidateCosts:
        (
            mean,
            low,
            high,
            extrapolated,
            components,
            containers,
            families,
            code_distance,
            table_bytes,
            traffic_bytes,
            flops,
            own_bytes,
        ) = sums_NC.T
        counts = PassCounts(
            components=components,
            containers=containers,
            families=families,
            code_distance=code_distance,
            traffic_bytes=traffic_bytes,
            kept_bytes=traffic_bytes * kept_share(traffic_bytes),
            displaced_bytes=table_bytes * np.log1p(traffic_bytes / BYTES_PER_MIB),
        )
        mean, low, high = self._context.place_bounds((mean, low, high), counts)
        inputs = inputs_of(candidates.features, candidates.dense_features, self._batch)
        transfer = self._model.transfer([inputs])
        mean, busy_w = mean + transfer.mean_ms, self._model.busy_w
        return CandidateCosts(
            device=self._device,
            batch=self._batch,
            mean_ms=mean,
            low_ms=low + transfer.low_ms,
            high_ms=high + transfer.high_ms,
            extrapolated=(extrapolated > 0) | transfer.extrapolated,
            flops=flops.copy(),
            parameter_bytes=(own_bytes + shared_N).astype(np.int64),
            energy_j=None if busy_w is None else busy_w * mean / MS_PER_S,
        )


def _gather(layout: _Layout, prices: PartPrices, rows: Index | None, sums_NC: Floats, *, with_families: bool) -> None:
    table_RC = prices.rows(layout.parts)
    families_RW = prices.families(layout.parts) if with_families else np.zeros((len(layout.parts), 0), dtype=np.uint64)
    tables: dict[int, Floats] = {}
    count = len(sums_NC) if rows is None else len(rows)
    for start in range(0, count, _CHUNK):
        stop = min(start + _CHUNK, count)
        some: slice | Index = slice(start, stop) if rows is None else rows[start:stop]
        places = layout.places(some)
        sums = _sum_of(table_RC, places)
        if prices.apart:
            _add_tables(layout, prices, places, sums, tables)
        for words_R in families_RW.T:
            sums[:, FAMILIES] += np.bitwise_count(np.bitwise_or.reduce(words_R[places], axis=1))
        sums_NC[some] = sums


def _add_tables(layout: _Layout, prices: PartPrices, places: Index, sums: Floats, tables: dict[int, Floats]) -> None:
    """Tables behind the traffic of each candidate's other components; `tables` keeps their rows by that traffic."""
    within = context_bytes_of(sums[:, COLUMNS.index("traffic_bytes")]).astype(np.int64)
    for context_bytes in np.unique(within).tolist():
        if context_bytes not in tables:
            tables[context_bytes] = prices.table_rows(layout.parts, context_bytes)
        alike = np.flatnonzero(within == context_bytes)
        sums[alike, :LATENCIES] += _sum_of(tables[context_bytes], places[alike])


def _sum_of(table_RC: Floats, places_NS: Index) -> Floats:
    """[N, C]: for each candidate the sum of its parts' rows, as the product of a matrix of ones, mostly absent."""
    from scipy.sparse import csr_array

    count, slots = places_NS.shape
    ends = np.arange(0, count * slots + 1, slots)
    chosen = csr_array((np.ones(count * slots), places_NS.reshape(-1), ends), shape=(count, len(table_RC)))
    sums: Floats = chosen @ table_RC
    return sums


def _distinct_sets(sets_NF: NDArray[np.bool_]) -> tuple[Index, Index]:
    """Where each different row comes first, and which of them every row is; rows are compared as whole numbers."""
    key_N = np.zeros(len(sets_NF), dtype=np.int64)
    for start in range(0, sets_NF.shape[1], _BITS):
        some_NF = sets_NF[:, start : start + _BITS]
        bits_N = some_NF @ (1 << np.arange(some_NF.shape[1], dtype=np.int64))
        _, bits_N = np.unique(bits_N, return_inverse=True)
        key_N = key_N * (int(bits_N.max(initial=0)) + 1) + bits_N.reshape(-1)
    _, first_R, chosen_N = np.unique(key_N, return_index=True, return_inverse=True)
    return first_R, chosen_N.reshape(-1)


def _places_of(used: Index, offered: int) -> Index:
    """Where among those used each of the numbers below `offered` stands; 0 for one that is not."""
    lookup = np.zeros(offered, dtype=np.intp)
    lookup[used] = np.arange(len(used))
    return lookup


def _shared_bytes(candidates: Candidates) -> Floats:
    """[N]: bytes of the array that features share, once for each candidate that has one."""
    shared = [spec.shared_bytes if isinstance(spec, RobeSpec) else 0 for spec in candidates.embeddings]
    most_N = np.zeros(len(candidates))
    if any(shared):
        bytes_E = np.array(shared, dtype=np.float64)
        for chosen_N in candidates.embedding_NF.T:
            np.maximum(most_N, bytes_E[chosen_N], out=most_N)
    return most_N
