"""A sharding answer as one HTML page that opens offline, with the frames and charts behind it."""

from planner.distributed.report.page import write_shard_page

__all__ = ["write_shard_page"]
