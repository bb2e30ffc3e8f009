"""Deep hash embedding (Kang et al., arXiv 2010.10784): an id's hashes, decoded to its embedding by an MLP."""

from typing import TYPE_CHECKING

from profiles.lazy import lazy_attributes

if TYPE_CHECKING:
    from representations.dhe.embedding import DheEmbedding, set_deduplication, set_streaming
    from representations.dhe.encoder import DheEncoder
    from representations.dhe.precision import DecoderPrecision, choose_decoder_precision

__all__ = [
    "DecoderPrecision",
    "DheEmbedding",
    "DheEncoder",
    "choose_decoder_precision",
    "set_deduplication",
    "set_streaming",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "DecoderPrecision": "representations.dhe.precision",
        "DheEmbedding": "representations.dhe.embedding",
        "DheEncoder": "representations.dhe.encoder",
        "choose_decoder_precision": "representations.dhe.precision",
        "set_deduplication": "representations.dhe.embedding",
        "set_streaming": "representations.dhe.embedding",
    },
)
