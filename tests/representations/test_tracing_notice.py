import subprocess
import sys

import pytest

pytest.importorskip("torchrec")

ONE_GROUP = """
from representations.provider import RecommendationProvider
from profiles.component import make_component
shape = {"backend": "torchrec", "tables": 2, "rows": 10, "dim": 4, "pooling": 1, "zipf": 0.0}
built = RecommendationProvider().build(make_component("embedding_group", 3, shape), 0)
built.module(*built.args)
"""
ONE_MODEL = """
from profiles.providers import find_target
target = find_target("torchrec-dlrm")
"""
OTHERS_OWN = "import logging, torch.fx; logging.getLogger('torch.fx._symbolic_trace').warning('of another thing')"


@pytest.mark.slow
@pytest.mark.parametrize("program", [ONE_GROUP, ONE_MODEL])
def test_the_first_jagged_tensor_says_nothing_and_other_warnings_are_said(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"{program}\n{OTHERS_OWN}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "is_fx_tracing" not in done.stderr
    assert "of another thing" in done.stderr
