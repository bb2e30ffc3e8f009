"""Small targets that preprocessors are tried on."""

import torch
from torch import nn

from profiles.providers.target import InputBatch, Target
from tests.profiles.small_models import Net, net_inputs

__all__ = ["net_target", "tagger_target", "two_layers"]


class Tagger(nn.Module):
    """Ids of tokens and a mask -> scores: a table, BatchNorm, an encoder layer and a recurrent one."""

    def __init__(self, rows: int, width: int = 8) -> None:
        super().__init__()
        self.table = nn.Embedding(rows, width, padding_idx=0)
        self.norm = nn.BatchNorm1d(width)
        self.encoder = nn.TransformerEncoderLayer(width, 2, 16, batch_first=True)
        self.recurrent = nn.GRU(width, width)
        self.head = nn.Linear(width, 3)

    def forward(self, ids_BT: torch.Tensor, mask_TT: torch.Tensor) -> torch.Tensor:
        x_BTD = self.norm(self.table(ids_BT).transpose(1, 2)).transpose(1, 2)
        x_BTD = self.encoder(x_BTD, src_mask=mask_TT)
        x_TBD, _ = self.recurrent(x_BTD.transpose(0, 1))
        scores_B3: torch.Tensor = self.head(x_TBD[-1])
        return scores_B3


def net_target() -> Target:
    torch.manual_seed(0)
    args, kwargs = net_inputs()
    return Target(name="net", model=Net(), batches=(InputBatch(args=args, kwargs=kwargs),))


def tagger_target(rows: int = 50, batch: int = 4) -> Target:
    def inputs(samples: int) -> InputBatch:
        generator = torch.Generator().manual_seed(samples)
        mask_TT = torch.full((6, 6), float("-inf")).triu(1)
        return InputBatch(args=(torch.randint(rows, (samples, 6), generator=generator), mask_TT))

    torch.manual_seed(0)
    return Target(name="tagger", model=Tagger(rows), batches=(inputs(batch),), resized=inputs)


def two_layers() -> Target:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    return Target(name="two layers", model=model, batches=(InputBatch(args=(torch.rand(3, 4),)),))
