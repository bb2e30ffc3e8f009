import pytest

from planner.cost_model.containers import container_shares, containers_of, embedding_of

PATHS = ["mlp.0", "mlp.relu_0", "embeddings.0", "embeddings.1.dhe.encoder", "embeddings.1.concat", "interaction"]


def test_a_module_runs_inside_all_whose_paths_begin_its_own() -> None:
    assert list(containers_of("embeddings.1.dhe.encoder")) == ["embeddings", "embeddings.1", "embeddings.1.dhe"]
    assert list(containers_of("interaction")) == []


def test_a_path_leads_into_one_embedding_or_none() -> None:
    assert list(map(embedding_of, PATHS)) == ["", "", "embeddings.0", "embeddings.1", "embeddings.1", ""]
    assert embedding_of("sparse_arch.2.table") == "sparse_arch.2"


def test_shares_of_containers_sum_to_their_number() -> None:
    shares = container_shares(PATHS)
    assert shares.sum() == pytest.approx(4)
    assert shares.tolist() == pytest.approx([1 / 2, 1 / 2, 1 / 3, 1 / 3 + 1 / 2 + 1, 1 / 3 + 1 / 2, 0])


def test_no_component_has_no_container() -> None:
    assert container_shares([]).tolist() == []
