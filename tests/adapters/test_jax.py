"""Feeds for JAX: arrays on their devices, one shape for all, states that count what was delivered."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from few_digits import few_digits
from training_example import run

import wellfed as wf
from wellfed.columns import Bytes, Ragged
from wellfed.errors import PlanError

pytestmark = pytest.mark.jax


@pytest.fixture(scope="module", autouse=True)
def _four_devices():
    """Four devices of the CPU; JAX reads it when its first array is made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
        patch.setenv("JAX_PLATFORMS", "cpu")
        import jax

        assert jax.device_count() == 4
        yield


@pytest.fixture
def jax():
    import jax

    return jax


@pytest.fixture
def loader():
    from wellfed.adapters.jax import JaxLoader

    return JaxLoader


def numbers():
    columns = {"x": np.arange(12, dtype=np.int32), "y": np.arange(24, dtype=np.float32).reshape(12, 2)}
    return wf.from_arrays(columns).shuffle(seed=1).batch(4)


def values(batches):
    return [batch["x"].tolist() for batch in batches]


DUE = [values(numbers().epoch(epoch)) for epoch in range(3)]


def test_elements_are_arrays_of_jax_on_its_device(loader, jax):
    batch = next(iter(loader(numbers())))

    assert isinstance(batch["y"], jax.Array)
    assert (batch["y"].shape, batch["y"].dtype) == ((4, 2), np.float32)
    assert batch["y"].devices() == {jax.devices()[0]}


def test_a_sharding_spreads_each_batch_over_the_devices(loader, jax):
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))

    batches = list(loader(numbers(), sharding))

    assert values(batches) == DUE[0]
    assert all(leaf.sharding == sharding for batch in batches for leaf in batch.values())
    assert [shard.data.shape for shard in batches[0]["y"].addressable_shards] == [(1, 2)] * 4


def test_a_batch_that_the_devices_cannot_share_is_refused(loader, jax):
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    uneven = wf.from_arrays({"x": np.arange(12)}).batch(6)

    with pytest.raises(ValueError, match=r"partitioned 4 times.* is 6|divisible by 4, but it is equal to 6"):
        list(loader(uneven, sharding))


@pytest.mark.parametrize("shardings", ["one", "each"])
def test_processes_share_a_data_set_and_each_gives_its_part_of_a_global_batch(shardings):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, str(Path(__file__).parents[1] / "support" / "jax_process.py"), port]
    both = [subprocess.Popen([*command, str(rank), shardings], stdout=subprocess.PIPE, text=True) for rank in range(2)]
    parts = [json.loads(process.communicate(timeout=120)[0].splitlines()[-1]) for process in both]

    shuffled = [row["x"].item() for row in wf.from_arrays({"x": np.arange(24, dtype=np.int32)}).shuffle(seed=1)]
    assert [part["shapes"] for part in parts] == [[[8]] * 3] * 2
    assert [np.concatenate(part["mine"]).tolist() for part in parts] == [shuffled[0::2], shuffled[1::2]]
    assert sorted(shuffled) == list(range(24))


@pytest.mark.parametrize("ahead", [0, 1, 5])
def test_each_iter_is_the_next_epoch_however_far_ahead(loader, ahead):
    batches = loader(numbers(), ahead=ahead)

    assert [values(batches) for _ in range(3)] == DUE


def test_an_array_of_another_order_of_bytes_is_copied(loader):
    (batch,) = loader(wf.from_arrays(np.arange(4, dtype=">i4")).batch(4))

    assert batch.tolist() == [0, 1, 2, 3]


WRONG = {
    "ahead below 0": ({"ahead": -1}, "ahead must be at least 0 elements, got -1"),
    "ahead in words": ({"ahead": "a"}, "ahead must be a whole number, got 'a'"),
    "ahead as bool": ({"ahead": True}, "ahead must be a whole number, got True"),
    "ahead as None": ({"ahead": None}, "ahead must be a whole number, got None"),
    "a device in words": ({"sharding": "cpu"}, "sharding must be a jax.sharding.Sharding or a device, got 'cpu'"),
    "a device by number": ({"sharding": 0}, "sharding must be a jax.sharding.Sharding or a device, got 0"),
}


@pytest.mark.parametrize(("options", "what"), WRONG.values(), ids=WRONG)
def test_an_option_of_another_kind_is_refused_at_once(loader, options, what):
    with pytest.raises(PlanError, match=f"JaxLoader: {what}"):
        loader(numbers(), **options)


def test_a_sharding_may_differ_from_leaf_to_leaf(loader, jax):
    first, second, *_ = jax.devices()
    batch = next(iter(loader(numbers(), {"x": first, "y": second})))

    assert (batch["x"].devices(), batch["y"].devices()) == ({first}, {second})


@pytest.mark.parametrize("delivered", range(3))
def test_a_loader_goes_on_after_what_was_delivered(loader, delivered):
    first, second = loader(numbers()), loader(numbers())
    running = iter(first)
    before = [next(running)["x"].tolist() for _ in range(delivered)]
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    running.close()

    assert before + values(second) == DUE[0]
    assert values(second) == DUE[1]


def test_a_smaller_last_batch_is_refused_with_what_to_do(loader):
    due = r"x is int64 \(2,\), and was int64 \(4,\) in the first element; .*drop_remainder=True"

    with pytest.raises(PlanError, match=due):
        list(loader(wf.from_arrays({"x": np.arange(6)}).batch(4)))


@pytest.mark.parametrize(
    "column", [Bytes.from_list([b"a", b"b"]), Ragged(np.arange(2), [0, 1, 2])], ids=["Bytes", "Ragged"]
)
def test_a_column_without_an_array_is_refused_with_what_to_do(loader, column):
    with pytest.raises(PlanError, match=rf"no array for s \({type(column).__name__}\): .*select_columns"):
        list(loader(wf.from_arrays({"s": column}).batch(2)))


def test_records_of_fields_are_refused_with_what_to_do(loader):
    with pytest.raises(PlanError, match=r"no array for the element \(ndarray\): .*select_columns"):
        list(loader(wf.from_arrays(np.zeros(4, dtype=[("a", "i4")])).batch(2)))


def test_training_that_was_stopped_ends_with_the_same_weights(loader, jax, tmp_path):
    def loss_of(weights, batch):
        scores = jax.nn.log_softmax((batch["image"] / 255.0) @ weights)
        return -jax.numpy.take_along_axis(scores, batch["label"][:, None], axis=1).mean()

    learn = jax.jit(jax.value_and_grad(loss_of))

    def train(batches, weights, stop_at=None):
        step, loss = 0, None
        while batches.epoch < 3:
            for batch in batches:
                loss, slope = learn(weights, batch)
                weights, step = weights - 0.5 * slope, step + 1
                if step == stop_at:
                    return weights, batches.state_dict()
        return weights, float(loss)

    start = jax.numpy.zeros((784, 10))
    whole, loss = train(loader(few_digits(tmp_path)), start)
    weights, saved = train(loader(few_digits(tmp_path)), start, stop_at=13)
    rest = loader(few_digits(tmp_path))
    rest.load_state_dict(saved)
    resumed, _ = train(rest, weights)

    assert loss < 0.8  # ln(10) = 2.3 where nothing was learnt.
    assert np.array_equal(resumed, whole)


@pytest.mark.slow
def test_the_example_ends_with_the_same_weights_after_a_stop_in_the_middle(tmp_path):
    stopped = run("train_jax.py", tmp_path / "stopped", "--stop-after", "170")  # In epoch 1, 20 steps after a save.
    resumed = run("train_jax.py", tmp_path / "stopped")
    whole = run("train_jax.py", tmp_path / "whole")
    ends = [np.load(tmp_path / name / "jax.npz") for name in ("stopped", "whole")]

    assert "epoch 1 of 2" in stopped
    assert "epoch 2 of 2" not in stopped
    assert all(np.array_equal(ends[0][name], ends[1][name]) for name in ends[1].files)
    assert float(whole.split()[-7].rstrip("%")) > 90
    assert resumed.splitlines()[-1] == whole.splitlines()[-1]
