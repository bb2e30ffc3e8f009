"""Embedding representations, the models built from them, data sets and training."""
