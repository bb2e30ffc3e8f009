"""What a built model takes of the process's memory, beside what its spec says."""

import subprocess
import sys

import pytest

# A small model first, so that libraries and thread pools are there before anything is counted.
CODE = """
import sys, torch
from pathlib import Path
from representations import build_model, model_from_object
from representations.target import random_inputs

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

def built(embedding, rows):
    spec = model_from_object({
        "name": "m", "dense_features": 1, "bottom_mlp": [64], "top_mlp": [1],
        "features": [{"name": n, "cardinality": rows} for n in "ab"], "embeddings": [embedding] * 2})
    model = build_model(spec)
    with torch.inference_mode():
        model(*random_inputs(spec, 4))
    return spec, model

embedding, rows = eval(sys.argv[1]), int(sys.argv[2])
kept = built(embedding, 1000)
before = resident()
spec, model = built(embedding, rows)
print((resident() - before) / spec.parameter_bytes)
"""
# About 130 MB each.
CASES = [
    ({"kind": "table", "dim": 64}, 256_000),
    ({"kind": "table", "dim": 64, "dtype": "float16"}, 512_000),
    ({"kind": "table", "dim": 64, "backend": "torchrec"}, 256_000),
    ({"kind": "table", "dim": 64, "backend": "fbgemm"}, 256_000),
    ({"kind": "table", "dim": 64, "dtype": "int8", "backend": "quantised"}, 1_000_000),
    ({"kind": "quotient-remainder", "dim": 64}, 1_000_000),
    ({"kind": "mixed-dimension", "dim": 64, "inner_dim": 16}, 1_000_000),
    ({"kind": "tensor-train", "dim": 64, "rank": 128}, 8_000_000),
    ({"kind": "robe", "dim": 64, "floats": 32_000_000}, 5_000_000),
    ({"kind": "dhe", "dim": 64, "k": 2048, "widths": [4096, 2048]}, 1_000_000),
]


@pytest.mark.slow
@pytest.mark.parametrize(("embedding", "rows"), CASES, ids=str)
def test_a_built_model_takes_its_stated_bytes_and_at_most_two_percent_more(embedding: object, rows: int) -> None:
    command = [sys.executable, "-c", CODE, repr(embedding), str(rows)]
    ratio = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    assert 0.9 < ratio < 1.02
