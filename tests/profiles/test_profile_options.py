from typing import Any

import pytest

from profiles.errors import InputError
from profiles.profile_options import ProfileOptions


@pytest.mark.parametrize(
    "bad",
    [
        {"max_depth": -1},
        {"threads": 0},
        {"visits": 1},
        {"samples_per_visit": 0},
        {"min_share": 1.5},
        {"interval": 0.0},
        {"budget_s": -1.0},
    ],
)
def test_bad_options_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="but got"):
        ProfileOptions(**bad)


def test_a_visit_is_timed_as_the_options_say() -> None:
    timing = ProfileOptions(visits=4, samples_per_visit=60, seconds_per_visit=0.5).timing
    assert (timing.visits, timing.min_samples, timing.max_samples, timing.seconds_per_visit) == (4, 60, 60, 0.5)
