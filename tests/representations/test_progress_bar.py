import io

from representations.progress_bar import training_bar
from representations.training_config import TrainingProgress


def test_bar_shows_steps_loss_and_throughput() -> None:
    drawn = io.StringIO()
    with training_bar("flights", drawn) as tell:
        tell(TrainingProgress(epoch=2, step=7, steps=7, loss=0.5, samples_per_s=12345.0))
    assert "flights" in drawn.getvalue()
    assert "7/7" in drawn.getvalue()
    assert "epoch 2, loss 0.5000, 12,345 samples/s" in drawn.getvalue()
