import torch
from torch.utils.flop_counter import FlopCounterMode

from profiles.providers import Target, find_target
from representations.build import build_model
from representations.presets import get_preset
from representations.target import build_target, common_row_limit, random_inputs
from tests.representations.models import TABLE, small_model


def flops_of(target: Target) -> int:
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        target.model(*target.args)
    return int(counter.get_total_flops())


def test_a_target_runs_and_can_be_resized() -> None:
    target = find_target("dlrm-flights")
    assert (target.true_parameter_bytes, target.notes) == ({}, ())
    assert target.resized is not None
    with torch.inference_mode():
        assert target.model(*target.args).shape == (256,)
        assert target.model(*target.resized(7).args).shape == (7,)


def test_dlrm_bench_has_its_flops() -> None:
    assert flops_of(build_target(get_preset("dlrm-bench"), budget_bytes=10_000)) == 1_192_919_040


def test_large_tables_are_cut_to_the_budget_and_the_true_bytes_kept() -> None:
    spec = get_preset("dlrm-kaggle")
    target = build_target(spec, batch=3, budget_bytes=20_000_000)
    built = target.model.state_dict()
    held = sum(tensor.nbytes for name, tensor in built.items() if name.startswith("embeddings."))
    assert 19_000_000 < held <= 20_000_000
    assert target.true_parameter_bytes["embeddings"] == 2_160_804_928
    assert target.true_parameter_bytes[""] == spec.parameter_bytes
    assert target.true_parameter_bytes["embeddings.2"] == 10_131_227 * 16 * 4
    assert "embeddings.8" not in target.true_parameter_bytes
    assert target.notes == (f"tables cut to {len(built['embeddings.2.weight']):,} rows to fit",)


def test_a_limit_keeps_small_tables_whole() -> None:
    rows = (2, 5, 100)

    def bytes_at(limit: int) -> int:
        return sum(min(limit, count) for count in rows)

    assert common_row_limit(rows, bytes_at, 107) == 100
    assert common_row_limit(rows, bytes_at, 37) == 30
    assert common_row_limit(rows, bytes_at, 0) == 1


def test_pooled_features_get_bags() -> None:
    dense, bags = random_inputs(small_model(TABLE, TABLE, pooling=4.0), 5)
    assert dense.shape == (5, 2)
    assert isinstance(bags, list)
    ids, offsets = bags[0]
    assert (len(ids), offsets.tolist()) == (20, [0, 4, 8, 12, 16])


def test_weights_are_those_of_the_seed() -> None:
    spec = get_preset("dlrm-flights")
    weights = build_target(spec, seed=4).model.state_dict()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in build_model(spec, 4).state_dict().items())
