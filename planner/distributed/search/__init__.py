"""The search for a plan: options per table, bounds, packing and local improvement, all on arrays."""
