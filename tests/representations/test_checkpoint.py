import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from profiles.errors import CorruptFileError, InputError
from representations.assignment import Representation, with_representation
from representations.datasets import Splits, SyntheticSpec, make_synthetic, split_dataset
from representations.metrics import NOT_SCORED
from representations.specs import DheSpec, Feature, ModelSpec, TableSpec
from representations.training import train
from representations.training_config import (
    Checkpoints,
    DenseOptimizer,
    TrainingConfig,
    TrainingProgress,
    TrainingResult,
)

DATA = SyntheticSpec(features=(Feature(name="a", cardinality=50), Feature(name="b", cardinality=20)))
SPEC = ModelSpec(
    name="small",
    dense_features=2,
    features=DATA.features,
    embeddings=(TableSpec(dim=4),) * 2,
    bottom_mlp=(8, 4),
    top_mlp=(8, 1),
)
CONFIG = TrainingConfig(epochs=3, batch_size=100)


class StopError(Exception):
    pass


def stop_at(step: int) -> Callable[[TrainingProgress], None]:
    def tell(progress: TrainingProgress) -> None:
        if progress.step == step:
            raise StopError

    return tell


def data() -> Splits:
    return split_dataset(make_synthetic(DATA, 1500).dataset, "random")


def assert_same(first: TrainingResult, second: TrainingResult) -> None:
    assert first.test == second.test
    assert first.validation_log_losses == second.validation_log_losses
    theirs = second.model.state_dict()
    assert all(torch.equal(value, theirs[name]) for name, value in first.model.state_dict().items())


@pytest.mark.parametrize("representation", ["table", "hybrid"])
@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_interrupted_training_ends_as_an_uninterrupted_one(
    tmp_path: Path, representation: Representation, optimizer: DenseOptimizer
) -> None:
    spec = with_representation(SPEC, representation, dim=4, dhe=DheSpec(dim=4, k=8, widths=(8,)))
    config = replace(CONFIG, dense_optimizer=optimizer)
    checkpoints = Checkpoints(path=tmp_path / "state.safetensors", every_seconds=0)
    whole = train(spec, data(), config)
    for step in (4, 13, 14, 30):
        with pytest.raises(StopError):
            train(spec, data(), config, stop_at(step), checkpoints)
    assert_same(train(spec, data(), config, checkpoints=checkpoints), whole)


def test_interrupted_training_of_float16_tables_goes_on_with_squares_of_float32(tmp_path: Path) -> None:
    spec = replace(SPEC, embeddings=(TableSpec(dim=4, dtype="float16"), TableSpec(dim=4)))
    checkpoints = Checkpoints(path=tmp_path / "state.safetensors", every_seconds=0)
    with pytest.raises(StopError):
        train(spec, data(), CONFIG, stop_at(4), checkpoints)
    assert_same(train(spec, data(), CONFIG, checkpoints=checkpoints), train(spec, data(), CONFIG))


def test_finished_training_is_not_run_again(tmp_path: Path) -> None:
    checkpoints = Checkpoints(path=tmp_path / "new" / "state.safetensors")
    steps: list[TrainingProgress] = []
    first = train(SPEC, data(), CONFIG, checkpoints=checkpoints)
    assert_same(train(SPEC, data(), CONFIG, steps.append, checkpoints), first)
    assert not steps


@pytest.mark.parametrize(
    ("change", "message"),
    [({"config": replace(CONFIG, seed=5)}, "settings differ"), ({"spec": SPEC.renamed("other")}, "model differ")],
)
def test_checkpoint_of_another_training_is_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    checkpoints = Checkpoints(path=tmp_path / "state.safetensors")
    train(SPEC, data(), CONFIG, checkpoints=checkpoints)
    given = {"spec": SPEC, "config": CONFIG} | change
    with pytest.raises(InputError, match=message):
        train(given["spec"], data(), given["config"], checkpoints=checkpoints)  # type: ignore[arg-type]  # as above
    other_rows = split_dataset(make_synthetic(DATA, 1400).dataset, "random")
    with pytest.raises(InputError, match="train rows, validation rows differ"):
        train(SPEC, other_rows, CONFIG, checkpoints=checkpoints)


def test_damaged_checkpoint_is_named(tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    path.write_bytes(b"no tensors")
    with pytest.raises(CorruptFileError, match=r"state\.safetensors: not a whole"):
        train(SPEC, data(), CONFIG, checkpoints=Checkpoints(path=path))
    with pytest.raises(InputError, match="every_seconds"):
        Checkpoints(path=path, every_seconds=-1)


PROGRAM = """
import sys
from pathlib import Path
from tests.representations.test_checkpoint import CONFIG, SPEC, data
from representations.training import train
from representations.training_config import Checkpoints

def tell(progress):
    print(progress.step, flush=True)

train(SPEC, data(), CONFIG, tell, Checkpoints(path=Path(sys.argv[1]), every_seconds=0))
"""


def test_killed_training_goes_on_to_the_same_result(tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    with subprocess.Popen([sys.executable, "-c", PROGRAM, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while int(process.stdout.readline()) < 7 or not path.exists():
            time.sleep(0.001)
        os.kill(process.pid, signal.SIGKILL)
    steps: list[TrainingProgress] = []
    resumed = train(SPEC, data(), CONFIG, steps.append, Checkpoints(path=path))
    assert steps[0].step > 1
    assert_same(resumed, train(SPEC, data(), CONFIG))


@pytest.mark.parametrize("shares", [(0.1, 0.5), (1 / 3,), (0.99,)])
def test_a_training_that_stopped_at_shares_and_went_on_is_the_training_in_one(
    tmp_path: Path, shares: tuple[float, ...]
) -> None:
    kept = Checkpoints(path=tmp_path / "carried.safetensors")
    for share in shares:
        train(SPEC, data(), CONFIG, checkpoints=kept, share=share)
    assert_same(train(SPEC, data(), CONFIG, checkpoints=kept), train(SPEC, data(), CONFIG))


def test_a_share_of_a_training_makes_that_share_of_its_steps() -> None:
    steps: list[int] = []
    part = train(SPEC, data(), CONFIG, progress=lambda now: steps.append(now.step), share=0.5)
    whole: list[int] = []
    train(SPEC, data(), CONFIG, progress=lambda now: whole.append(now.steps))
    assert steps[-1] == round(0.5 * whole[0])
    assert (part.best_epoch, part.test) == (0, NOT_SCORED)


@pytest.mark.parametrize("share", [0.0, 1.1])
def test_a_share_beyond_a_training_is_refused(share: float) -> None:
    with pytest.raises(InputError, match=r"share must be in \(0, 1\]"):
        train(SPEC, data(), CONFIG, share=share)
