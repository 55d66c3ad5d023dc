"""Feeds copied to a device ahead: the same tensors wherever they go, also while the consumer's own work is under way.

On a CUDA device the copies run on a stream of their own; without one, that half is left out.
"""

from __future__ import annotations

import numpy as np
import pytest
from torch_adapter import adapter, torch

import wellfed as wf
from wellfed.columns import Ragged

__all__ = ["adapter", "torch"]  # Fixtures.

pytestmark = pytest.mark.torch

BATCHES, BATCH = 60, 32


@pytest.fixture(params=["cpu", "cuda"])
def device(request, torch):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device here")
    return request.param


@pytest.fixture
def cuda(torch):
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device here")
    return torch.cuda


def dataset():
    """Batches of 32 pictures, 1.5 MB each: large enough to be under way for a while."""
    rows = BATCHES * BATCH
    images = np.random.default_rng(0).integers(0, 256, (rows, 128, 128, 3), np.uint8)
    return wf.from_arrays({"image": images, "label": np.arange(rows)}).shuffle(seed=0).batch(BATCH)


def sums(batches):
    return [int(batch["image"].astype(np.int64).sum()) for batch in batches]


def test_each_batch_comes_whole_and_in_its_place(adapter, torch, device):
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


def test_a_consumer_on_a_stream_of_its_own_sees_whole_batches(adapter, torch, cuda):
    stream, found = cuda.Stream(), []
    for batch in adapter.TorchLoader(dataset(), "cuda"):
        with cuda.stream(stream):
            stream.wait_stream(cuda.current_stream())
            found.append(batch["image"].sum())
            batch["image"].record_stream(stream)

    assert [int(total) for total in found] == sums(dataset())


def test_memory_is_not_reused_while_the_consumers_work_waits(adapter, torch, cuda):
    found = []
    for batch in adapter.TorchLoader(dataset(), "cuda"):
        cuda._sleep(20_000_000)  # Some 10 ms of work, which is queued: by its end later batches have been copied.
        found.append(batch["image"].sum())

    assert [int(total) for total in found] == sums(dataset())


@pytest.mark.parametrize("pin_memory", [None, True, False])
def test_a_batch_is_whole_however_it_is_copied(adapter, cuda, pin_memory):
    loader = adapter.TorchLoader(dataset(), "cuda", pin_memory=pin_memory)

    assert [int(batch["image"].sum()) for batch in loader] == sums(dataset())


def test_pinned_memory_is_pinned(adapter, cuda):
    assert all(batch["image"].is_pinned() for batch in adapter.TorchLoader(dataset(), pin_memory=True))


def test_copying_ahead_takes_no_more_memory_than_a_few_batches(adapter, cuda):
    cuda.reset_peak_memory_stats()
    before = cuda.memory_allocated()
    for batch in adapter.TorchLoader(dataset(), "cuda"):
        batch_bytes = batch["image"].nbytes + batch["label"].nbytes
    cuda.synchronize()

    assert cuda.max_memory_allocated() - before <= 4 * batch_bytes
