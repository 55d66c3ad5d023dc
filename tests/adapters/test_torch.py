"""Feeds for PyTorch: tensors over the arrays' memory, DataLoader with workers, states that count what was delivered."""

from __future__ import annotations

import json
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from few_digits import few_digits
from torch_adapter import adapter, torch
from training_example import run

import wellfed as wf
from wellfed.columns import Bytes, Ragged, Sparse
from wellfed.errors import PlanError, StateError

__all__ = ["adapter", "torch"]  # Fixtures.

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:'set_vital' is deprecated"),  # torchdata 0.11 calls it with torch 2.13.
]


def numbers(count=22):
    return wf.from_arrays({"x": np.arange(count)}).shuffle(seed=1).batch(4)


def values(batches):
    return [batch["x"].tolist() for batch in batches]


DUE = [values(numbers().epoch(epoch)) for epoch in range(5)]  # Epoch 2 is DUE[2], whoever delivers it.


# --- Elements ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int16", "uint16", "int32", "int64", "float16", "float32", "float64"]
)
def test_a_tensor_has_the_arrays_type_and_memory(adapter, torch, dtype):
    column = np.arange(6).reshape(2, 3).astype(dtype)

    tensor = adapter.to_torch(column)

    assert tensor.dtype == getattr(torch, dtype)
    assert np.array_equal(tensor.numpy(), column)
    assert tensor.data_ptr() == column.ctypes.data


def test_a_read_only_array_is_copied_so_that_a_tensor_can_be_written(adapter):
    column = np.arange(3)
    column.flags.writeable = False

    adapter.to_torch(column)[0] = 7

    assert column[0] == 0


def test_a_reversed_array_is_copied(adapter):
    assert adapter.to_torch(np.arange(3)[::-1]).tolist() == [2, 1, 0]


def test_an_array_of_another_order_of_bytes_is_copied(adapter):
    assert adapter.to_torch(np.arange(3, dtype=">i4")).tolist() == [0, 1, 2]


def test_a_column_that_torch_has_no_dtype_for_is_named(adapter):
    element = {"x": np.zeros(2), "when": (np.zeros(2, "M8[s]"), b"a")}

    with pytest.raises(
        TypeError, match=r"to_torch: torch has no dtype for when.0 \(datetime64\[s\]\): make numbers of"
    ):
        adapter.to_torch(element)


def test_rows_of_different_length_are_a_jagged_tensor(adapter):
    values = np.array([5.0, 6.0, 7.0], np.float32)

    tensor = adapter.to_torch({"r": Ragged(values, [0, 2, 2, 3])})["r"]

    assert [row.tolist() for row in tensor.unbind()] == [[5, 6], [], [7]]
    assert tensor.values().data_ptr() == values.ctypes.data


def test_a_sparse_column_is_a_sparse_tensor(adapter, torch):
    column = Sparse(np.array([[0, 2], [2, 1]]), np.array([20.0, 10.0], np.float32), (3, 4))

    tensor = adapter.to_torch({"s": column})["s"]

    assert (tensor.layout, tensor.dtype) == (torch.sparse_coo, torch.float32)
    assert tensor.to_dense().tolist() == column.to_dense().tolist()


def test_structure_and_strings_stay_as_they_are(adapter, torch):
    names = Bytes.from_list([b"pig", b"cow"])

    found = adapter.to_torch(({"name": names, "n": np.int64(3)}, b"id"))

    assert found[0]["name"] is names
    assert found[1] == b"id"
    assert torch.equal(found[0]["n"], torch.tensor(3))


# --- TorchLoader -------------------------------------------------------------------------------------------------


def test_each_iter_of_a_loader_is_the_next_epoch(adapter):
    loader = adapter.TorchLoader(numbers())

    assert [values(loader) for _ in range(3)] == DUE[:3]
    assert loader.epoch == 3


def test_an_iterator_that_nobody_asks_counts_as_no_epoch(adapter):
    loader = adapter.TorchLoader(numbers())
    iter(loader)

    assert [values(loader), values(loader)] == DUE[:2]


def test_a_state_after_the_last_batch_is_the_start_of_the_next_epoch(adapter):
    first, second = adapter.TorchLoader(numbers()), adapter.TorchLoader(numbers())
    running = iter(first)
    for _ in range(len(first)):
        next(running)
    second.load_state_dict(first.state_dict())
    running.close()

    assert (second.epoch, values(second)) == (1, DUE[1])


def test_the_epoch_that_is_set_comes_next(adapter):
    loader = adapter.TorchLoader(numbers())
    loader.set_epoch(3)

    assert [loader.epoch, values(loader), values(loader)] == [3, DUE[3], DUE[4]]


@pytest.mark.parametrize(("epoch", "due"), [(0, DUE[0][2:]), (1, DUE[1])])
def test_setting_an_epoch_keeps_a_state_that_was_loaded_for_it(adapter, epoch, due):
    first, second = adapter.TorchLoader(numbers()), adapter.TorchLoader(numbers())
    running = iter(first)
    next(running), next(running)
    second.load_state_dict(first.state_dict())
    running.close()
    second.set_epoch(epoch)

    assert values(second) == due


def test_a_loader_has_the_data_sets_length(adapter):
    assert len(adapter.TorchLoader(numbers())) == 6


@pytest.mark.parametrize("delivered", range(6))
@pytest.mark.parametrize("ahead", [0, 2])
def test_a_loader_goes_on_after_what_was_delivered(adapter, delivered, ahead):
    first = adapter.TorchLoader(numbers())
    first._ahead = ahead  # As with a device, whose copies are under way.
    list(first)
    running = iter(first)
    before = [next(running)["x"].tolist() for _ in range(delivered)]
    saved = json.loads(json.dumps(first.state_dict()))
    running.close()

    second = adapter.TorchLoader(numbers())
    second.load_state_dict(saved)

    assert before + values(second) == DUE[1]
    assert values(second) == DUE[2]


def test_a_state_after_a_whole_epoch_begins_the_next_one(adapter):
    first = adapter.TorchLoader(numbers())
    list(first)
    second = adapter.TorchLoader(numbers())
    second.load_state_dict(first.state_dict())

    assert (second.epoch, values(second)) == (1, DUE[1])


def test_an_unseeded_order_is_kept_in_the_epochs_after_a_resume(adapter):
    def unseeded():
        return adapter.TorchLoader(wf.from_arrays({"x": np.arange(50)}).shuffle().batch(10))

    first, second = unseeded(), unseeded()
    second.load_state_dict(first.state_dict())

    assert [values(second) for _ in range(3)] == [values(first) for _ in range(3)]


def test_a_replayable_order_goes_on_from_its_cursor(adapter):
    def build():
        return wf.from_arrays({"x": np.arange(60)}).filter(lambda row: row["x"] % 3 > 0).shuffle(7, seed=1).batch(4)

    loader = adapter.TorchLoader(build())
    loader._ahead = 2  # As with a device, whose copies are under way.
    iterator = iter(loader)
    for _ in range(4):
        next(iterator)
    state = json.loads(json.dumps(loader.state_dict()))
    due = values(iterator) + values(loader)
    again = adapter.TorchLoader(build())
    again.load_state_dict(state)

    assert values(again) + values(again) == due


def test_another_world_size_goes_on_with_the_rest_and_then_with_whole_epochs(adapter):
    def build(world, rank):
        return wf.from_arrays({"x": np.arange(40)}).shuffle(seed=1).shard(world, rank).batch(2)

    loader = adapter.TorchLoader(build(4, 3))
    iterator = iter(loader)
    for _ in range(3):
        next(iterator)
    state = loader.state_dict()
    iterator.close()
    found = [[], []]
    for rank in range(2):
        again = adapter.TorchLoader(build(2, rank))
        again.load_state_dict(state)
        for _ in range(2):  # The rest of this epoch, and the next one.
            found[rank].append([x for batch in values(again) for x in batch])

    order = [int(row["x"]) for row in wf.from_arrays({"x": np.arange(40)}).shuffle(seed=1).epoch(0)]
    assert [x for pair in zip(*(rest for rest, _ in found), strict=True) for x in pair] == order[24:]
    assert sorted(x for _, whole in found for x in whole) == list(range(40))


def test_a_state_of_another_plan_is_refused(adapter):
    saved = adapter.TorchLoader(numbers()).state_dict()

    with pytest.raises(StateError, match="the verbs of the data set differ"):
        adapter.TorchLoader(numbers().take(2)).load_state_dict(saved)


def test_a_loader_leaves_the_data_sets_own_count_alone(adapter):
    dataset = numbers()
    list(adapter.TorchLoader(dataset))

    assert values(dataset) == DUE[0]


def test_a_loader_that_is_left_early_leaves_no_thread(adapter):
    for _ in adapter.TorchLoader(numbers(100_000)):
        break  # conftest.py looks for threads.


def test_a_loader_pickles(adapter):
    assert values(pickle.loads(pickle.dumps(adapter.TorchLoader(numbers())))) == DUE[0]


@pytest.mark.parametrize("loader", ["TorchLoader", "TorchDataset"])
def test_what_is_no_data_set_is_refused(adapter, loader):
    with pytest.raises(PlanError, match=f"{loader}: a data set is due, got list"):
        getattr(adapter, loader)([1, 2])


WRONG = {
    "a device that is none": ({"device": 1.5}, "device must be one of torch's or its name, got 1.5"),
    "a device as bool": ({"device": True}, "device must be one of torch's or its name, got True"),
    "pin_memory in words": ({"pin_memory": "no"}, "pin_memory must be True, False or None, got 'no'"),
    "pin_memory as a number": ({"pin_memory": 0}, "pin_memory must be True, False or None, got 0"),
}


@pytest.mark.parametrize(("options", "what"), WRONG.values(), ids=WRONG)
def test_an_option_of_another_kind_is_refused_at_once(adapter, options, what):
    with pytest.raises(PlanError, match=f"TorchLoader: {what}"):
        adapter.TorchLoader(numbers(), **options)


@pytest.mark.parametrize("epoch", [-1, "1", True, None])
def test_an_epoch_that_is_none_is_refused(adapter, epoch):
    with pytest.raises(PlanError, match="TorchLoader: epoch must be"):
        adapter.TorchLoader(numbers()).set_epoch(epoch)


def test_pinned_memory_without_an_accelerator_is_a_warning(adapter, torch):
    if torch.cuda.is_available():
        pytest.skip("memory can be pinned here")

    with pytest.warns(UserWarning, match="pin_memory=True has no effect here"):
        loader = adapter.TorchLoader(numbers(), pin_memory=True)
    assert values(loader) == DUE[0]


def test_a_device_is_where_the_tensors_are(adapter, torch):
    assert {batch["x"].device.type for batch in adapter.TorchLoader(numbers(), device="cpu")} == {"cpu"}
    assert {batch["x"].device.type for batch in adapter.TorchLoader(numbers(), device="meta")} == {"meta"}


# --- DataLoader --------------------------------------------------------------------------------------------------

WORKERS = {
    "none": {},
    "one": {"num_workers": 1},
    "two": {"num_workers": 2},
    "persistent": {"num_workers": 2, "persistent_workers": True},
    "spawn": {"num_workers": 2, "persistent_workers": True, "multiprocessing_context": "spawn"},
}
STATEFUL = {name: WORKERS[name] for name in ("none", "two", "persistent")}


@pytest.mark.parametrize("options", WORKERS.values(), ids=WORKERS)
def test_workers_give_the_order_without_them_in_each_epoch(adapter, options):
    from torch.utils.data import DataLoader

    loader = DataLoader(adapter.TorchDataset(numbers()), batch_size=None, **options)

    assert [values(loader) for _ in range(3)] == DUE[:3]
    assert len(loader) == 6


@pytest.mark.parametrize("options", STATEFUL.values(), ids=STATEFUL)
def test_an_epoch_that_is_left_early_counts_as_one(adapter, options):
    from torch.utils.data import DataLoader

    loader = DataLoader(adapter.TorchDataset(numbers()), batch_size=None, **options)
    first = next(iter(loader))["x"].tolist()

    assert [first, values(loader)] == [DUE[0][0], DUE[1]]


def test_workers_share_a_filtered_data_set(adapter):
    from torch.utils.data import DataLoader

    odd = wf.from_arrays({"x": np.arange(22)}).filter(lambda e: e["x"] % 2 == 1).batch(3)

    assert values(DataLoader(adapter.TorchDataset(odd), batch_size=None, num_workers=2)) == values(odd)


def test_a_shuffle_without_a_seed_is_refused_in_several_workers(adapter, monkeypatch):
    monkeypatch.setattr(adapter, "get_worker_info", lambda: SimpleNamespace(id=1, num_workers=2, seed=8))
    dataset = adapter.TorchDataset(wf.from_arrays({"x": np.arange(9)}).shuffle().batch(2))

    with pytest.raises(PlanError, match="give the same seed to all"):
        iter(dataset)


@pytest.mark.parametrize("options", STATEFUL.values(), ids=STATEFUL)
@pytest.mark.parametrize("delivered", [0, 3, 6])
def test_torchdata_goes_on_after_what_was_delivered(adapter, options, delivered):
    from torchdata.stateful_dataloader import StatefulDataLoader

    def loader():
        return StatefulDataLoader(adapter.TorchDataset(numbers()), batch_size=None, **options)

    first, second = loader(), loader()
    list(first)
    running = iter(first)
    before = [next(running)["x"].tolist() for _ in range(delivered)]
    second.load_state_dict(first.state_dict())
    del running

    assert before + values(second) == DUE[1]
    assert values(second) == DUE[2]


# --- Training ----------------------------------------------------------------------------------------------------


class Training:
    """A linear classifier of digits, its optimiser and its loader: all that a checkpoint has to keep."""

    def __init__(self, torch, loader):
        torch.manual_seed(0)
        self.torch, self.loader = torch, loader
        self.model = torch.nn.Linear(784, 10)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)

    def parts(self):
        return {"model": self.model, "optimizer": self.optimizer, "loader": self.loader}

    def run(self, epochs, stop_at=None):
        """Trains to the end of epoch `epochs`, or returns a checkpoint after `stop_at` steps; and the last loss."""
        step, loss = 0, None
        while self.loader.epoch < epochs:
            for batch in self.loader:
                loss = self.torch.nn.functional.cross_entropy(self.model(batch["image"] / 255), batch["label"])
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                step += 1
                if step == stop_at:
                    return {name: part.state_dict() for name, part in self.parts().items()}
        return loss.item()


@pytest.mark.parametrize("stop_at", [1, 13, 20])
def test_training_that_was_stopped_ends_with_the_same_weights(adapter, torch, tmp_path, stop_at):
    def training():
        return Training(torch, adapter.TorchLoader(few_digits(tmp_path)))

    whole, stopped, resumed = training(), training(), training()
    loss = whole.run(epochs=3)
    saved = tmp_path / "checkpoint.pt"
    torch.save(stopped.run(epochs=3, stop_at=stop_at), saved)
    for name, state in torch.load(saved, weights_only=True).items():
        resumed.parts()[name].load_state_dict(state)
    resumed.run(epochs=3)

    assert loss < 0.6  # ln(10) = 2.3 where nothing was learnt.
    assert torch.equal(resumed.model.weight, whole.model.weight)


@pytest.mark.slow
def test_the_example_ends_with_the_same_weights_after_a_stop_in_the_middle(torch, tmp_path):
    stopped = run("train_torch.py", tmp_path / "stopped", "--stop-after", "170")  # In epoch 1, 20 steps after a save.
    resumed = run("train_torch.py", tmp_path / "stopped")
    whole = run("train_torch.py", tmp_path / "whole")
    ends = [torch.load(tmp_path / name / "torch.pt", weights_only=True)["model"] for name in ("stopped", "whole")]

    assert "epoch 1 of 2" in stopped
    assert "epoch 2 of 2" not in stopped
    assert all(torch.equal(ends[0][name], ends[1][name]) for name in ends[1])
    assert float(whole.split()[-7].rstrip("%")) > 95
    assert resumed.splitlines()[-1] == whole.splitlines()[-1]
