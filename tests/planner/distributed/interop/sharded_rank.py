"""One rank that runs an export under torchrec's DistributedModelParallel, beside the same model in one piece.

python -m tests.planner.distributed.interop.sharded_rank EXPORT STORE OUT, with RANK, WORLD_SIZE and LOCAL_WORLD_SIZE.
"""

import gc
import json
import os
import sys
from pathlib import Path

import torch
from torch import distributed as dist
from torch import nn
from torch.distributed._shard.sharded_tensor.api import ShardedTensor
from torch.distributed.optim.apply_optimizer_in_backward import _apply_optimizer_in_backward
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.model_parallel import DistributedModelParallel
from torchrec.modules.embedding_configs import EmbeddingBagConfig
from torchrec.modules.embedding_modules import EmbeddingBagCollection
from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

from planner.distributed.comms import RecordCollectives, write_trace
from planner.distributed.interop import TorchrecExport, read_export, table_modules, torchrec_plan

SAMPLES, IDS = 8, 3
LEARNING_RATE = 0.5


class Model(nn.Module):
    def __init__(self, export: TorchrecExport) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.sparse = EmbeddingBagCollection(
            tables=[
                EmbeddingBagConfig(
                    name=table.name,
                    num_embeddings=table.rows,
                    embedding_dim=table.dim,
                    feature_names=[f"f_{table.name}"],
                )
                for table in export.tables
            ]
        )

    def forward(self, ids: KeyedJaggedTensor) -> dict[str, torch.Tensor]:
        found: dict[str, torch.Tensor] = self.sparse(ids).to_dict()
        return found


def batch(export: TorchrecExport, rank: int) -> KeyedJaggedTensor:
    generator = torch.Generator().manual_seed(100 + rank)
    values = [torch.randint(table.rows, (SAMPLES * IDS,), generator=generator) for table in export.tables]
    return KeyedJaggedTensor.from_lengths_sync(
        keys=[f"f_{table.name}" for table in export.tables],
        values=torch.cat(values),
        lengths=torch.full((len(export.tables) * SAMPLES,), IDS),
    )


def give_weights(sharded: nn.Module, whole: nn.Module) -> None:
    weights = whole.state_dict()
    for name, value in sharded.state_dict().items():
        if isinstance(value, ShardedTensor):
            for shard in value.local_shards():
                (row, column), (rows, columns) = shard.metadata.shard_offsets, shard.metadata.shard_sizes
                shard.tensor.detach().copy_(weights[name][row : row + rows, column : column + columns])
        else:
            value.detach().copy_(weights[name])


def step(model: nn.Module, ids: KeyedJaggedTensor) -> None:
    found = model(ids)
    torch.autograd.backward(torch.stack([(one * one).sum() for one in found.values()]).sum())


def trained(model: nn.Module, batches: list[KeyedJaggedTensor]) -> nn.Module:
    """One step of SGD on the mean over ranks of their losses."""
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE / len(batches))
    for ids in batches:
        step(model, ids)
    optimizer.step()
    return model


def run(export: TorchrecExport, folder: Path) -> dict[str, float]:
    rank, ranks = dist.get_rank(), dist.get_world_size()
    whole, model = Model(export), Model(export)
    fused = any(table.compute_kernel == "fused" for table in export.tables)
    if fused:
        _apply_optimizer_in_backward(torch.optim.SGD, model.parameters(), {"lr": LEARNING_RATE})
    sharded = DistributedModelParallel(
        model,
        device=torch.device("cpu"),
        plan=torchrec_plan(export, table_modules(model)),
        sharders=[EmbeddingBagCollectionSharder()],
    )
    give_weights(sharded, whole)
    recorder = RecordCollectives()
    ids = batch(export, rank)
    with recorder:
        found = sharded(ids)
        step(sharded, ids)
    write_trace(recorder.calls, folder / f"trace-{rank}.json", ranks)
    expected = whole(ids)
    off = {name: float((found[name] - expected[name]).abs().max()) for name in expected}
    assert set(found) == set(expected)
    if fused:
        expected = trained(whole, [batch(export, other) for other in range(ranks)])(ids)
        found = sharded(ids)
        off |= {name: max(off[name], float((found[name] - expected[name]).abs().max())) for name in expected}
    del sharded, found
    gc.collect()
    return off


def main() -> None:
    export, store, folder = read_export(Path(sys.argv[1])), Path(sys.argv[2]), Path(sys.argv[3])
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", init_method=store.absolute().as_uri(), rank=rank, world_size=ranks)
    off = run(export, folder)
    (folder / f"off-{rank}.json").write_text(json.dumps(off))
    dist.barrier()
    dist.destroy_process_group()
    # torchrec's threads now and then abort an interpreter that ends in the usual way.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
