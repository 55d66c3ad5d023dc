"""A heavy batch is divided among idle threads, and nothing of that shows in what comes out."""

import gc
import threading
import weakref

import numpy as np
import pytest

import wellfed as wf
from wellfed.errors import ImageError
from wellfed.feed import parts
from wellfed.feed.parts import Helpers

PATIENCE = 30  # For threads that must meet; reached only where they do not. [s]


@pytest.fixture
def tiny_parts(monkeypatch):
    monkeypatch.setattr(parts, "PART_SECONDS", 0.0)  # Every row a part.


def helper_of(helpers):
    """A thread that takes tokens as the engine's threads do."""

    def run():
        while token := helpers.tokens.get():
            token()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_every_row_is_done_once_whoever_does_it(tiny_parts):
    helpers = Helpers(2)
    thread = helper_of(helpers)
    done = np.zeros(100, np.int64)

    def work(start, stop):
        done[start:stop] += 1

    helpers.run(work, len(done))
    helpers.tokens.put(False)
    thread.join(PATIENCE)

    assert done.tolist() == [1] * 100


def test_an_idle_thread_takes_a_part_of_a_heavy_batch(tiny_parts):
    helpers = Helpers(2)
    thread = helper_of(helpers)
    both = threading.Barrier(2)

    def work(start, stop):
        del stop
        if start in (1, 2):
            both.wait(PATIENCE)  # Passes only where two threads are inside.

    helpers.run(work, 3)
    helpers.tokens.put(False)
    thread.join(PATIENCE)

    assert not both.broken


def test_a_batch_that_is_soon_done_wakes_nobody():
    helpers = Helpers(2)

    helpers.run(lambda _start, _stop: None, 64)

    assert helpers.tokens.empty()


def test_the_first_part_that_fails_is_the_one_that_is_raised(tiny_parts):
    helpers = Helpers(2)
    thread = helper_of(helpers)
    both = threading.Barrier(2)

    def work(start, stop):
        del stop
        if start in (1, 2):
            both.wait(PATIENCE)
            raise ValueError(f"row {start}")

    with pytest.raises(ValueError, match="row 1"):
        helpers.run(work, 10)
    helpers.tokens.put(False)
    thread.join(PATIENCE)


def test_no_part_begins_once_the_owner_has_closed(tiny_parts):
    done = []

    Helpers(1).run(lambda start, _: done.append(start), 10, lambda: len(done) == 3)

    assert done == [0, 1, 2]


def test_a_call_for_help_that_is_answered_too_late_does_nothing(tiny_parts):
    helpers, done = Helpers(2), []

    def work(start, stop):
        del stop
        done.append(start)
        if start == 1:
            raise ValueError("the end")

    with pytest.raises(ValueError, match="the end"):
        helpers.run(work, 10)
    helpers.tokens.get()()

    assert done == [0, 1]


def test_a_call_for_help_that_nobody_answered_keeps_no_batch_alive(tiny_parts):
    class Batch:
        """What the work refers to."""

    batch = Batch()
    alive = weakref.ref(batch)
    helpers = Helpers(2)

    def work(start, stop, batch=batch):
        pass

    helpers.run(work, 10)
    del work, batch
    gc.collect()

    assert not helpers.tokens.empty()
    assert alive() is None


# --- In a feed ----------------------------------------------------------------------------------


def photos(damaged=()):
    random = np.random.default_rng(0)
    pictures = [random.integers(0, 256, (20 + i % 7, 30, 3)).astype(np.uint8) for i in range(48)]
    encoded = [wf.image.encode_image(picture, "jpeg") for picture in pictures]
    for row in damaged:
        encoded[row] = encoded[row][:-200]
    return wf.from_arrays({"image": wf.Bytes.from_list(encoded), "row": np.arange(48)})


CHAIN = wf.image.fuse([wf.image.RandomResizedCrop("image", 16), wf.image.RandomFlip("image")])


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_batches_are_the_same_however_they_are_divided(tiny_parts, threads):
    apart = [batch["image"] for batch in photos().shuffle(seed=0).map(CHAIN).batch(16).with_options(threads=threads)]
    whole = [batch["image"] for batch in photos().shuffle(seed=0).map(CHAIN).batch(16).with_options(threads=1)]

    assert np.array_equal(np.concatenate(apart), np.concatenate(whole))


def test_the_first_damaged_picture_is_named_although_others_fail_too(tiny_parts):
    with pytest.raises(ImageError, match="row 9") as caught:
        list(photos(damaged=[9, 11, 40]).batch(48).map(CHAIN).with_options(threads=3))
    assert "damaged" in str(caught.value)


def test_threads_end_with_the_last_batch(tiny_parts):
    before = threading.active_count()

    assert len(list(photos().shuffle(seed=0).map(CHAIN).batch(48).with_options(threads=4))) == 1
    assert threading.active_count() == before
