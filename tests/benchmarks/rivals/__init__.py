"""What the benchmarks measure the project against: the same work done as others do it."""
