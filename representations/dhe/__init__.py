"""Deep hash embedding (Kang et al., arXiv 2010.10784): an id's hashes, decoded to its embedding by an MLP."""
