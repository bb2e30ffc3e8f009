"""Simulate serving: queries, paths on devices, policies, capacity under an SLA."""
