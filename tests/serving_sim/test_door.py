import subprocess
import sys

import serving_sim


def test_every_public_name_is_there_and_they_are_sorted() -> None:
    constants = [name for name in serving_sim.__all__ if name.isupper()]
    classes = [name for name in serving_sim.__all__ if name[0].isupper() and not name.isupper()]
    functions = [name for name in serving_sim.__all__ if name[0].islower()]
    assert serving_sim.__all__ == sorted(constants) + sorted(classes) + sorted(functions)
    assert all(hasattr(serving_sim, name) for name in serving_sim.__all__)


def test_importing_the_package_loads_no_heavy_library() -> None:
    script = "import sys, serving_sim; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "ray", "altair", "faiss", "optuna", "torchrec", "numba", "polars", "sklearn"} & set(loaded)
