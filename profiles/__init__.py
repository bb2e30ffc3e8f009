"""Measure the building blocks of any PyTorch model, module by module."""
