import subprocess
import sys

SCRIPT = """
import sys
from planner.cli.loading import load_numba
load_numba()
print("numba" in sys.modules, "scipy" in sys.modules)
import scipy.optimize
print(scipy.optimize.brentq(lambda x: x - 1, 0, 3))
"""


def test_numba_comes_without_scipy_which_can_come_later() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "1.0"]
