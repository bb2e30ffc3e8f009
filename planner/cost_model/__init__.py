"""Latency from component profiles: a roofline plus a learned residual per component family, composed by addition."""
