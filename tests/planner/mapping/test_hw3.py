import pytest

from planner.cost_model.chips import layout_of
from planner.mapping.algorithm import MappingResult
from planner.mapping.hw3 import HW3_DEVICES, Accelerator, hw3_candidates, map_hw3
from planner.mapping.preset_plans import DataSet
from profiles.errors import UnknownNameError


def on_ipu(result: MappingResult) -> list[str]:
    return [path.candidate for path in result.plan.paths if path.device == "ipu"]


def layout(accelerator: Accelerator, result: MappingResult) -> str:
    held = sum(path.parameter_bytes for path in result.plan.paths if path.device == "ipu")
    return layout_of(HW3_DEVICES[accelerator][1].hardware, held).layout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("accelerator", "data", "expected", "laid_out"),
    [
        ("board", "kaggle", ["hybrid-1024", "table-4", "dhe-1024"], "pipeline"),
        ("board", "terabyte", ["hybrid-1024-8", "table-8", "dhe-1024"], "pipeline"),
        ("pod", "kaggle", ["hybrid-1024", "table-16", "dhe-1024"], "shard"),
        ("pod", "terabyte", ["hybrid-1024", "table-8", "dhe-1024"], "shard"),
    ],
)
def test_what_an_ipu_board_and_pod_take_stays_on_their_chips(
    accelerator: Accelerator, data: DataSet, expected: list[str], laid_out: str
) -> None:
    result = map_hw3(accelerator, data)
    assert on_ipu(result) == expected
    assert layout(accelerator, result) == laid_out


def test_one_chip_takes_what_fits_900_mb_and_never_streams() -> None:
    result = map_hw3("chip", "terabyte")
    assert on_ipu(result) == ["dhe-1024"]
    assert layout("chip", result) == "single"


def test_narrower_candidates_are_added_once() -> None:
    names = [one.name for one in hw3_candidates("kaggle")]
    assert sorted(names) == sorted(set(names))
    assert {"table-16", "table-8", "table-4", "table-2", "hybrid-1024-8"} <= set(names)
    with pytest.raises(UnknownNameError, match="data"):
        hw3_candidates("avazu")  # type: ignore[arg-type]  # what a user may type
