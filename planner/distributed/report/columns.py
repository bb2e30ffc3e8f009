"""What the tables of a sharding page show."""

from planner.report.blocks import Column

__all__ = [
    "CHANGES",
    "MEMORY",
    "MOVED",
    "PHASES",
    "PHASE_CHANGES",
    "PLACEMENTS",
    "PLANNERS",
    "REPLAYED",
    "SCHEMES",
    "SENSITIVITY",
]

SCHEMES = (
    Column(key="scheme", title="Scheme"),
    Column(key="tables", title="Tables", kind="integer"),
    Column(key="shards", title="Shards", kind="integer"),
    Column(key="bytes", title="Held", kind="bytes", note="weights and optimizer state"),
)
MEMORY = (
    Column(key="tier", title="Memory"),
    Column(key="held_bytes", title="Tables", kind="bytes", note="weights and optimizer state, on all ranks"),
    Column(key="tier_bytes", title="Of", kind="bytes"),
    Column(key="fullest_bytes", title="Fullest rank", kind="bytes"),
    Column(key="other_bytes", title="All else", kind="bytes", note="layers, activations and buffers on each device"),
    Column(key="device_bytes", title="Has", kind="bytes"),
)
PLACEMENTS = (
    Column(key="table", title="Table"),
    Column(key="rows", title="Rows", kind="integer"),
    Column(key="dim", title="Dim", kind="integer"),
    Column(key="pooling", title="Ids", kind="number", note="per sample"),
    Column(key="scheme", title="Scheme"),
    Column(key="tiers", title="Memory"),
    Column(key="shards", title="Shards", kind="integer"),
    Column(key="ranks", title="Ranks", kind="range"),
    Column(key="bytes", title="Held", kind="bytes"),
    Column(key="hit_rate", title="Cache hits", kind="percent", note="predicted, where memory is slower than the first"),
)
PHASES = (
    Column(key="name", title="Phase"),
    Column(key="phase", title="Pass"),
    Column(key="mean_ms", title="Mean rank", kind="ms"),
    Column(key="max_ms", title="Longest rank", kind="ms"),
    Column(key="exposed_ms", title="Exposed", kind="ms", note="no computation beside it, mean over ranks"),
    Column(key="critical_ms", title="On the critical path", kind="ms"),
    Column(key="limit", title="Limited by"),
    Column(key="provenance", title="Time is", kind="provenance"),
)
CHANGES = (
    Column(key="name", title="What if"),
    Column(key="ranks", title="Ranks", kind="integer"),
    Column(key="iteration_ms", title="Iteration", kind="ms"),
    Column(key="qps", title="Samples/s", kind="rate"),
    Column(key="change", title="Change", kind="range"),
    Column(key="exposed_comm_share", title="Exposed transfers", kind="percent"),
    Column(key="most_changed", title="Changed most"),
    Column(key="moved", title="Tables placed otherwise", kind="integer"),
)
PHASE_CHANGES = (
    Column(key="name", title="Phase"),
    Column(key="before_ms", title="As it is", kind="ms", note="the longest rank"),
    Column(key="after_ms", title="Then", kind="ms"),
    Column(key="change", title="Change", kind="range"),
    Column(key="critical_change", title="On the critical path", kind="range"),
)
MOVED = (
    Column(key="table", title="Table"),
    Column(key="change", title="Change"),
    Column(key="scheme", title="Scheme"),
    Column(key="new_scheme", title="Then"),
    Column(key="ranks", title="Ranks", kind="integer"),
    Column(key="new_ranks", title="Then", kind="integer"),
    Column(key="tiers", title="Memory"),
    Column(key="new_tiers", title="Then"),
    Column(key="moved_bytes", title="To move", kind="bytes"),
)
SENSITIVITY = (
    Column(key="constant", title="Constant"),
    Column(key="divided_ms", title="Halved", kind="ms"),
    Column(key="multiplied_ms", title="Doubled", kind="ms"),
    Column(key="elasticity", title="Elasticity", kind="number", note="-1: the iteration is as long as it is small"),
)
PLANNERS = (
    Column(key="planner", title="Planner"),
    Column(key="plan_seconds", title="Planned in (s)", kind="number"),
    Column(key="torchrec_ms", title="Slowest rank", kind="ms", note="on torchrec's costs; where it has some"),
    Column(key="torchrec_over_bound", title="Over the bound", kind="number", note="on torchrec's costs"),
    Column(key="max_over_mean", title="Over the mean", kind="number", note="on torchrec's costs"),
    Column(key="iteration_ms", title="Iteration", kind="ms", note="by the model of this page"),
    Column(key="qps", title="Samples/s", kind="rate"),
)
REPLAYED = (
    Column(key="collective", title="Collective"),
    Column(key="message_bytes", title="Message", kind="bytes"),
    Column(key="calls", title="Calls", kind="integer"),
    Column(key="measured_ms", title="Measured", kind="ms"),
    Column(key="predicted_ms", title="Predicted", kind="ms", note="from the fixed sizes"),
    Column(key="off", title="Off", kind="range"),
)
