"""Charts of profiles: pure functions to frames, and thin renderers to Altair charts."""
