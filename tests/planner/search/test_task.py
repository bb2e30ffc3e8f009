import pytest

from profiles.errors import InputError
from tests.planner.search.closed_form import make_task


def test_all_trials_of_a_study_train_from_one_seed_that_follows_from_the_studys() -> None:
    assert make_task(seed=1).training_seed == make_task(seed=1).training_seed != make_task(seed=2).training_seed


def test_the_sampler_draws_anew_for_each_trial() -> None:
    assert len({make_task().sampling_seed(asked) for asked in range(50)}) == 50


@pytest.mark.parametrize(("changes", "where"), [({"features": ()}, "feature"), ({"seed": -1}, "seed")])
def test_a_task_that_cannot_be_searched_is_refused(changes: dict[str, object], where: str) -> None:
    with pytest.raises(InputError, match=where):
        make_task(**changes)  # type: ignore[arg-type]  # the changes are any of the fields
