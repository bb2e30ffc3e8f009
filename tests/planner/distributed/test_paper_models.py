"""The published models have the published sizes."""

import pytest

from planner.distributed import total_bytes
from planner.distributed.paper_models import PAPER_MODELS, Assumptions, paper_job, paper_tables
from profiles.errors import InputError, UnknownNameError


@pytest.mark.parametrize("name", PAPER_MODELS)
@pytest.mark.parametrize("spread", [0.0, 0.7])
def test_tables_have_the_published_parameters_and_means(name: str, spread: float) -> None:
    model, tables = PAPER_MODELS[name], paper_tables(name, Assumptions(spread=spread))
    assert sum(table.rows * table.dim for table in tables) == pytest.approx(model.parameters, rel=1e-3)
    assert sum(table.dim for table in tables) / len(tables) == pytest.approx(model.mean_dim, rel=0.02)
    assert sum(table.pooling for table in tables) / len(tables) == pytest.approx(model.pooling)
    assert (len({table.dim for table in tables}) > 1) == (spread > 0)


def test_model_f_takes_24_terabytes() -> None:
    assert total_bytes(paper_tables("F")) == pytest.approx(24.2e12, rel=0.01)


def test_assumptions_reach_the_dense_part() -> None:
    plain = paper_job("A")
    assert plain.forward_flops_per_sample == pytest.approx(638e6)
    assert plain.dense_parameters == pytest.approx(20 * 3375**2, rel=1e-6)
    whole = paper_job("A", Assumptions(flops="whole", dense_parameters="flops", bottom_share=0.2))
    assert whole.forward_flops_per_sample == pytest.approx(638e6 / 3)
    assert whole.dense_parameters == pytest.approx(638e6 / 6, rel=1e-6)
    assert (whole.bottom.layers, whole.top.layers) == (4, 16)
    assert paper_tables("A", row_share=0.5)[0].rows == pytest.approx(paper_tables("A")[0].rows / 2, abs=1)


def test_what_is_no_assumption_is_refused() -> None:
    with pytest.raises(InputError, match="tables: must be >= 1, but got 0"):
        Assumptions(tables=0)
    with pytest.raises(InputError, match="bottom_share in"):
        Assumptions(bottom_share=1.5)
    with pytest.raises(UnknownNameError, match="model: unknown name 'B'; known: A, F, I"):
        paper_job("B")
