"""What a machine with a GPU is asked to do: run its tests, measure the presets' components, profile two models."""
