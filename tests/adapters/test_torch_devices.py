"""Feeds copied to a device ahead: the same tensors wherever they go, also while the consumer's own work is under way.

The devices: the CPU, which has no streams; "late", made for these tests (tests/support/late_device.cc), which does
nothing before it has to, or, in a hurry, all but the consumer's work at once; and CUDA where there is one.
"""

from __future__ import annotations

import numpy as np
import pytest
from late_device import add_late_device
from torch_adapter import adapter, torch

import wellfed as wf
from wellfed.columns import Ragged

__all__ = ["adapter", "torch"]  # Fixtures.

pytestmark = pytest.mark.torch

BATCHES, BATCH = 60, 32


STREAMS = ["late", "late in a hurry", "cuda"]


@pytest.fixture(params=["cpu", *STREAMS])
def device(request, torch, tmp_path_factory):
    """The name of a device."""
    name, *hurry = request.param.split(maxsplit=1)
    if name == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device here")
    if name == "late":
        late = add_late_device(torch, tmp_path_factory)
        for index in range(late.device_count()):
            late.synchronize(index)  # What another test left waiting.
        late.hurry(bool(hurry))
    return name


def with_streams(test):
    """Only on the devices that have streams."""
    return pytest.mark.parametrize("device", STREAMS, indirect=True)(test)


def dataset():
    """Batches of 32 pictures, 1.5 MB each: large enough to be under way for a while."""
    rows = BATCHES * BATCH
    images = np.random.default_rng(0).integers(0, 256, (rows, 128, 128, 3), np.uint8)
    return wf.from_arrays({"image": images, "label": np.arange(rows)}).shuffle(seed=0).batch(BATCH)


def sums(batches):
    return [int(batch["image"].astype(np.int64).sum()) for batch in batches]


def test_each_batch_comes_whole_and_in_its_place(adapter, device):
    due = list(dataset())
    found = [(batch["label"].tolist(), int(batch["image"].sum())) for batch in adapter.TorchLoader(dataset(), device)]

    assert found == [(batch["label"].tolist(), total) for batch, total in zip(due, sums(due), strict=True)]


def test_ragged_columns_come_whole(adapter, torch, device):
    ragged = Ragged.from_list([[float(n)] * (n % 5) for n in range(100)], np.float32)
    rows = wf.feed.from_generator(lambda: ({"r": ragged[n], "n": n} for n in range(100))).ragged_batch(10)
    expected = [adapter.to_torch(batch)["r"] for batch in rows]
    found = [batch["r"] for batch in adapter.TorchLoader(rows, device)]

    assert {tensor.device.type for tensor in found} == {device}
    for one, due in zip(found, expected, strict=True):
        assert torch.equal(one.values().cpu(), due.values())
        assert torch.equal(one.offsets().cpu(), due.offsets())


def test_a_state_counts_what_was_delivered_not_what_was_copied_ahead(adapter, device):
    loader = adapter.TorchLoader(dataset(), device)
    iterator = iter(loader)
    for _ in range(7):
        next(iterator)
    resumed = adapter.TorchLoader(dataset(), device)
    resumed.load_state_dict(loader.state_dict())

    assert next(iter(resumed))["label"].tolist() == next(iterator)["label"].tolist()


@with_streams
def test_a_consumer_on_a_stream_of_its_own_sees_whole_batches(adapter, torch, device):
    streams = getattr(torch, device)
    stream, loops, found = streams.Stream(), streams.current_stream(), []
    for batch in adapter.TorchLoader(dataset(), device):
        with streams.stream(stream):
            stream.wait_stream(loops)
            found.append(batch["image"].sum())
            batch["image"].record_stream(stream)

    assert [int(total) for total in found] == sums(dataset())


@with_streams
def test_memory_is_not_reused_while_the_consumers_work_waits(adapter, torch, device):
    found = []
    for batch in adapter.TorchLoader(dataset(), device):
        if device == "cuda":
            torch.cuda._sleep(20_000_000)  # Some 10 ms of work, which is queued: until then later batches are copied.
        found.append(batch["image"].clone())

    assert [int(image.sum()) for image in found] == sums(dataset())


@with_streams
@pytest.mark.parametrize("pin_memory", [None, True, False])
def test_a_batch_is_whole_however_it_is_copied(adapter, device, pin_memory):
    loader = adapter.TorchLoader(dataset(), device, pin_memory=pin_memory)

    assert [int(batch["image"].sum()) for batch in loader] == sums(dataset())


@pytest.mark.parametrize("device", ["late"], indirect=True)
def test_the_next_batch_is_on_its_way_while_the_consumer_has_this_one(adapter, torch, device):
    iterator = iter(adapter.TorchLoader(dataset(), device))
    int(next(iterator)["image"].sum())  # Waits for all of this batch.

    assert torch.late.waiting() == 2  # The two columns of the next.


@with_streams
def test_another_device_than_the_first(adapter, torch, device):
    if getattr(torch, device).device_count() < 2:
        pytest.skip("there is one device alone")
    found = [batch["image"] for batch in adapter.TorchLoader(dataset(), f"{device}:1")]

    assert {image.device.index for image in found} == {1}
    assert [int(image.sum()) for image in found] == sums(dataset())


@with_streams
def test_pinned_memory_is_pinned(adapter, device):
    assert all(batch["image"].is_pinned() for batch in adapter.TorchLoader(dataset(), pin_memory=True))


@with_streams
def test_torchs_own_loader_pins_what_it_is_given(adapter, torch, device):
    loader = torch.utils.data.DataLoader(adapter.TorchDataset(dataset()), batch_size=None, pin_memory=True)

    assert all(batch["image"].is_pinned() for batch in loader)


@with_streams
def test_copying_ahead_takes_no_more_memory_than_a_few_batches(adapter, torch, device):
    reserved = getattr(torch, device).memory_reserved
    before = reserved()
    for batch in adapter.TorchLoader(dataset(), device):
        int(batch["image"].sum())
        batch_bytes = batch["image"].nbytes + batch["label"].nbytes

    assert reserved() - before <= 4 * batch_bytes
