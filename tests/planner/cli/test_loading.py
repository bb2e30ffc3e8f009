import subprocess
import sys

SCRIPT = """
import sys
from planner.cli.loading import load_numba
load_numba()
print("numba" in sys.modules, "scipy" in sys.modules, "yaml" in sys.modules)
import scipy.optimize, yaml
print(scipy.optimize.brentq(lambda x: x - 1, 0, 3), yaml.safe_load("2"))
"""


def test_numba_comes_without_what_it_only_looks_for_which_can_come_later() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "False", "1.0", "2"]
