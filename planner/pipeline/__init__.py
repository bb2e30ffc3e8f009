"""The chain from a study to a report, step by step, each on plain data."""
