"""HW-3 of MP-Rec (Hsia et al., arXiv 2302.10872): a processor beside an IPU board or an IPU pod.

An IPU is fast only with what lies on its chips, so the budget is their memory, not the larger one behind it: 3.6 GB of
a board of four chips, 14.4 GB of a pod of sixteen. What is too large for it is narrowed, as the paper does.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from planner.cost_model.composition import CostModel
from planner.mapping.algorithm import MappingResult, map_candidates
from planner.mapping.candidate import TrainedCandidate
from planner.mapping.preset_plans import MP_REC_DEVICES, MP_REC_ZIPF, DataSet, catalogue_models, mp_rec_candidates
from planner.study import DeviceSection
from representations.specs import DheSpec, HybridSpec, TableSpec
from serving_sim.plan import Sizes, Workload

__all__ = ["HW3_DEVICES", "Accelerator", "hw3_candidates", "map_hw3"]

Accelerator = Literal["chip", "board", "pod"]

_HOST = MP_REC_DEVICES["mp-rec-hw3"][0]
HW3_DEVICES: Mapping[Accelerator, tuple[DeviceSection, ...]] = {
    "chip": (_HOST, DeviceSection(name="ipu", kind="ipu-gc200", memory="900 MB")),
    "board": (_HOST, DeviceSection(name="ipu", kind="ipu-m2000", memory="3.6 GB")),
    "pod": (_HOST, DeviceSection(name="ipu", kind="ipu-pod16", memory="14.4 GB")),
}
# Assumed, as the tables of 4 floats of `mp_rec_candidates` are: nobody published what narrower embeddings lose.
_LOST_PER_HALVING = 0.00025
_HALVINGS = (1, 2, 3)


def hw3_candidates(data: DataSet) -> tuple[TrainedCandidate, ...]:
    """The data set's candidates, and tables and hybrids of a half, a quarter and an eighth of their width.

    Raises:
        UnknownNameError: another data set.
    """
    whole = mp_rec_candidates(data)
    wide = [one for one in whole if isinstance(one.model.embeddings[0], TableSpec | HybridSpec)]
    widest = max(_dim(one) for one in wide)
    narrowed = [
        _narrowed(one, widest >> halving, halving) for one in wide if _dim(one) == widest for halving in _HALVINGS
    ]
    known = {one.name for one in whole}
    return (*whole, *(one for one in narrowed if one.name not in known))


def map_hw3(accelerator: Accelerator, data: DataSet) -> MappingResult:
    """Algorithm 1 on the processor and the accelerator, under the paper's load."""
    devices = HW3_DEVICES[accelerator]
    load = Workload(qps=1000.0, sla_ms=10.0, queries=10_000, sizes=Sizes(mean=128.0, sigma=1.0, maximum=4096))
    cost_model = CostModel(models=catalogue_models(devices))
    return map_candidates(
        hw3_candidates(data), devices, cost_model, load, name=f"mp-rec-hw3-{accelerator}-{data}", zipf=MP_REC_ZIPF
    )


def _dim(one: TrainedCandidate) -> int:
    embedding = one.model.embeddings[0]
    return embedding.table.dim if isinstance(embedding, HybridSpec) else embedding.width


def _narrowed(one: TrainedCandidate, dim: int, halvings: int) -> TrainedCandidate:
    embedding = one.model.embeddings[0]
    narrow: TableSpec | HybridSpec = TableSpec(dim=dim)
    name = f"table-{dim}"
    if isinstance(embedding, HybridSpec):
        dhe: DheSpec = replace(embedding.dhe, dim=dim)
        narrow, name = HybridSpec(table=TableSpec(dim=dim), dhe=dhe), f"{one.name}-{dim}"
    embeddings = (narrow,) * len(one.model.features)
    model = replace(one.model, name=name, embeddings=embeddings)
    return TrainedCandidate(name=name, model=model, accuracy=one.accuracy - halvings * _LOST_PER_HALVING)
