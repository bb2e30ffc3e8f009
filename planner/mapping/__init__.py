"""Which trained candidate serves on which device (Hsia et al., arXiv 2302.10872, Algorithm 1)."""
