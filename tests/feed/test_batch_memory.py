"""Memory of batches of pictures goes from one epoch to the next."""

import numpy as np

import wellfed as wf


def address_of(batch):
    return batch["image"].__array_interface__["data"][0]


def pictures():
    encoded = [wf.image.encode_image(np.full((32, 32, 3), row, np.uint8)) for row in range(8)]
    resize = wf.image.Resize("image", (300, 300))
    return wf.from_arrays({"image": wf.Bytes.from_list(encoded)}).map(resize).batch(8)


def test_the_next_epoch_fills_the_memory_of_the_last():
    dataset = pictures()
    first = {address_of(batch) for batch in dataset}
    second = {address_of(batch) for batch in dataset}

    assert first == second


def test_a_batch_that_is_kept_is_not_filled_again():
    dataset = pictures()
    kept = [batch["image"] for _ in range(3) for batch in dataset]

    assert len({image.__array_interface__["data"][0] for image in kept}) == 3
    assert all(int(image[row, 0, 0, 0]) == row for image in kept for row in range(8))
