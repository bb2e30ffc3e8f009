"""A study of minutes of measuring and training cut to seconds."""

__all__ = ["SMALL_STUDY"]

SMALL_STUDY = """
schema = "recplan.study/1"
name = "small"
seed = 1

[data]
source = "flights"
rows = 6000
split = "random"

[model]
features = ["carrier", "dest", "hour"]
bottom_mlp = [8, 4]
top_mlp = [8, 1]

[search]
trials = 4
constraints = { parameter_bytes = "1 MB" }
[search.space]
representation = ["table", "dhe"]
dim = [2, 4]
dhe_k = [8]
dhe_width = [8]
[search.training]
epochs = 1
batch_size = 512

[sweep]
batches = [1, 64, 1024]
milliseconds_per_visit = 1.0

[[devices]]
name = "cpu"
memory = "1 GB"
price_per_hour = 0.1

[[devices]]
name = "gpu"
kind = "v100"
memory = "100 MB"
price_per_hour = 2.0

[workload]
qps = 300
sla_ms = 20
queries = 5000
arrivals = "azure-conversation"
sizes = { lognormal_mean = 64, sigma = 1.0, max = 1024 }
"""
