from hypothesis import settings

# Machines are shared: a slow example is no failure.
settings.register_profile("profiles", deadline=None, max_examples=40)
settings.load_profile("profiles")
