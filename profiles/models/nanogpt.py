"""A decoder-only transformer of GPT-2's small shape, with the head tied to the token table (Radford et al., 2019).

Shape suffixes: B sequences, T tokens, C width, H heads, D width per head, V vocabulary.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 (as torch's documentation calls it)
from torch import Tensor, nn

from profiles.errors import InputError

__all__ = ["NanoGpt", "NanoGptConfig", "build_nanogpt"]

_INITIAL_STD = 0.02


@dataclass(frozen=True, kw_only=True, slots=True)
class NanoGptConfig:
    """The shape; by default GPT-2 small with the vocabulary rounded up to a multiple of 64."""

    layers: int = 12
    heads: int = 12
    width: int = 768
    block: int = 1024
    vocabulary: int = 50_304
    dropout: float = 0.1

    def __post_init__(self) -> None:
        for name in ("layers", "heads", "width", "block", "vocabulary"):
            if getattr(self, name) < 1:
                raise InputError(f"nanogpt: {name} must be >= 1, but got {getattr(self, name)}")
        if self.width % self.heads:
            raise InputError(f"nanogpt: width must be a multiple of heads, but got {self.width} and {self.heads}")


class NanoGpt(nn.Module):
    """Token ids [B, T] -> logits [B, T, V] for the token after each position."""

    def __init__(self, config: NanoGptConfig) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocabulary, config.width)
        self.positions = nn.Embedding(config.block, config.width)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        self.lm_head = nn.Linear(config.width, config.vocabulary, bias=False)
        self.tie()

    def tie(self) -> None:
        """Let the head have the token table as its weight."""
        self.lm_head.weight = self.tokens.weight

    def forward(self, ids_BT: Tensor) -> Tensor:
        """Logits of every position.

        Raises:
            InputError: more tokens than the model has positions.
        """
        if ids_BT.shape[1] > self.config.block:
            raise InputError(f"nanogpt: must get at most {self.config.block} tokens, but got {ids_BT.shape[1]}")
        positions_T = torch.arange(ids_BT.shape[1], device=ids_BT.device)
        x_BTC: Tensor = self.dropout(self.tokens(ids_BT) + self.positions(positions_T))
        for block in self.blocks:
            x_BTC = block(x_BTC)
        logits_BTV: Tensor = self.lm_head(self.norm(x_BTC))
        return logits_BTV


class Block(nn.Module):
    """Attention, then an MLP, each on the normalised stream and added to it."""

    def __init__(self, config: NanoGptConfig) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(config.width)
        self.attention = CausalAttention(config)
        self.mlp_norm = nn.LayerNorm(config.width)
        self.mlp = Mlp(config)

    def forward(self, x_BTC: Tensor) -> Tensor:
        """Shape as the input."""
        x_BTC = x_BTC + self.attention(self.attention_norm(x_BTC))
        output_BTC: Tensor = x_BTC + self.mlp(self.mlp_norm(x_BTC))
        return output_BTC


class CausalAttention(nn.Module):
    """Multi-head attention of each token to itself and those before it, by torch's fused kernel."""

    def __init__(self, config: NanoGptConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.attention_dropout = config.dropout
        self.query_key_value = nn.Linear(config.width, 3 * config.width)
        self.projection = nn.Linear(config.width, config.width)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x_BTC: Tensor) -> Tensor:
        """Shape as the input."""
        query_BHTD, key_BHTD, value_BHTD = (
            part_BTC.unflatten(2, (self.heads, -1)).transpose(1, 2)
            for part_BTC in self.query_key_value(x_BTC).chunk(3, dim=2)
        )
        mixed_BHTD = F.scaled_dot_product_attention(
            query_BHTD,
            key_BHTD,
            value_BHTD,
            dropout_p=self.attention_dropout if self.training else 0.0,
            is_causal=True,
        )
        output_BTC: Tensor = self.dropout(self.projection(mixed_BHTD.transpose(1, 2).flatten(2)))
        return output_BTC


class Mlp(nn.Module):
    """Four times as wide inside, with GELU."""

    def __init__(self, config: NanoGptConfig) -> None:
        super().__init__()
        self.expand = nn.Linear(config.width, 4 * config.width)
        self.activation = nn.GELU()
        self.contract = nn.Linear(4 * config.width, config.width)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x_BTC: Tensor) -> Tensor:
        """Shape as the input."""
        output_BTC: Tensor = self.dropout(self.contract(self.activation(self.expand(x_BTC))))
        return output_BTC


def build_nanogpt(config: NanoGptConfig | None = None, *, seed: int = 0, device: str = "cpu") -> NanoGpt:
    """The model in evaluation mode, its weights drawn from `seed`; torch's own generators are left as they were.

    On device `meta` nothing is allocated, so that a model of any size can be inspected.
    """
    with torch.device("meta"):
        model = NanoGpt(config or NanoGptConfig()).eval()
    if device == "meta":
        return model
    model.to_empty(device="cpu")
    model.tie()
    _initialise(model, torch.Generator().manual_seed(seed))
    return model.to(device)


def _initialise(model: NanoGpt, generator: torch.Generator) -> None:
    """Weights normal, biases zero, norms the identity; what adds to the stream is smaller, by its number of addends."""
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.reset_parameters()
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=_INITIAL_STD, generator=generator)
        elif isinstance(module, nn.Linear) and module is not model.lm_head:
            nn.init.normal_(module.weight, std=_INITIAL_STD, generator=generator)
            nn.init.zeros_(module.bias)
    addends = 2 * model.config.layers
    with torch.no_grad():
        for block in model.modules():
            if isinstance(block, Block):
                block.attention.projection.weight /= addends**0.5
                block.mlp.contract.weight /= addends**0.5
