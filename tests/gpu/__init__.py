"""What a machine with a GPU is asked to do: run its tests, and measure the presets' components."""
