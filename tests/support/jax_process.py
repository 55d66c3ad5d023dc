"""One of two processes that share a data set: prints the rows that its own devices hold of each global batch.

python jax_process.py PORT RANK one      one sharding for all leaves
python jax_process.py PORT RANK each     one for each leaf
"""

from __future__ import annotations

import json
import sys

import jax
import numpy as np

import wellfed as wf
from wellfed.adapters.jax import JaxLoader


def main() -> None:
    port, rank = sys.argv[1], int(sys.argv[2])
    jax.distributed.initialize(f"localhost:{port}", num_processes=2, process_id=rank, initialization_timeout=60)
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    numbers = wf.from_arrays({"x": np.arange(24, dtype=np.int32)}).shuffle(seed=1)
    loader = JaxLoader(
        numbers.shard().batch(4, drop_remainder=True), sharding if sys.argv[3] == "one" else {"x": sharding}
    )
    batches = list(loader)
    mine = [np.concatenate([shard.data for shard in batch["x"].addressable_shards]).tolist() for batch in batches]
    print(json.dumps({"shapes": [batch["x"].shape for batch in batches], "mine": mine}), flush=True)
    jax.distributed.shutdown()


if __name__ == "__main__":
    main()
