"""Leased memory: given back when the last array over it dies, and never before."""

import gc
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

from wellfed import _native

SIZE = 100_000


def in_a_cycle(array):
    holder = [array[5:]]
    holder.append(holder)
    return holder


KEEPERS = {
    "array": lambda a: a,
    "slice": lambda a: a[10:20],
    "view of a view": lambda a: a[10:90][5:].view(np.uint8)[1:],
    "typed view": lambda a: a[:80].view(np.int64),
    "reshaped row": lambda a: a.reshape(100, -1)[7],
    "memoryview": lambda a: memoryview(a)[3:],
    "transposed": lambda a: a.reshape(10, -1).T,
    "broadcast": lambda a: np.broadcast_to(a[:1], (5, 1)),
    "ravel": lambda a: a.reshape(10, -1)[2].ravel(),
    "iterator": iter,
    "dict of rows": lambda a: {"x": a[:10], "y": a[10:]},
    "cycle": in_a_cycle,
    "closure": lambda a: lambda: a[0],
    "subclass": lambda a: a[:16].view(np.recarray),
    "from dlpack": np.from_dlpack,
    "masked": lambda a: np.ma.MaskedArray(a[:10]),
}


@pytest.mark.parametrize("keep", KEEPERS.values(), ids=KEEPERS)
def test_memory_is_not_given_back_while_anything_refers_to_it(keep):
    pool = _native.LeasePool(1 << 20)
    kept = keep(pool.take(SIZE))
    gc.collect()

    assert pool.leased_bytes >= SIZE
    assert kept is not None


@pytest.mark.parametrize("keep", KEEPERS.values(), ids=KEEPERS)
def test_memory_is_given_back_once_nothing_does(keep):
    pool = _native.LeasePool(1 << 20)
    kept = keep(pool.take(SIZE))
    assert kept is not None
    del kept
    gc.collect()

    assert pool.leased_bytes == 0
    assert pool.free_bytes >= SIZE


def test_returned_memory_is_used_again():
    pool = _native.LeasePool(1 << 20)
    first = pool.take(SIZE)
    address = first.ctypes.data
    del first

    assert pool.take(SIZE - 1).ctypes.data == address


def test_memory_in_use_is_never_given_twice():
    pool = _native.LeasePool(1 << 20)
    arrays = [pool.take(SIZE) for _ in range(20)]

    assert len({array.ctypes.data for array in arrays}) == 20


def test_no_more_is_kept_than_allowed():
    pool = _native.LeasePool(2 * SIZE)
    arrays = [pool.take(SIZE) for _ in range(20)]
    arrays.clear()

    assert 0 < pool.free_bytes <= 2 * SIZE


def test_arrays_outlive_their_pool():
    pool = _native.LeasePool(1 << 20)
    array = pool.take(SIZE)
    array[:] = 7
    del pool
    gc.collect()

    assert int(array.sum()) == 7 * SIZE


def test_leases_are_aligned_writable_and_exact():
    array = _native.LeasePool(1 << 20).take(4097)

    assert (len(array), array.dtype, array.ctypes.data % 64, array.flags.writeable) == (4097, np.uint8, 0, True)


def test_an_empty_lease_is_an_empty_array():
    assert len(_native.LeasePool(0).take(0)) == 0


def test_memory_that_cannot_be_had_is_a_memory_error():
    pool = _native.LeasePool(0)

    with pytest.raises(MemoryError, match="bad_alloc"):
        pool.take(1 << 60)
    assert pool.leased_bytes == 0


def test_leases_pickle_as_their_bytes():
    array = _native.LeasePool(1 << 20).take(100)
    array[:] = np.arange(100)

    assert pickle.loads(pickle.dumps(array)).tolist() == list(range(100))


def test_four_threads_never_see_each_others_bytes():
    pool = _native.LeasePool(1 << 20)
    wrong = []

    def work(mark):
        for _ in range(2000):
            array = pool.take(5000)
            array[:] = mark
            rows = array[100:200]
            del array
            if not (rows == mark).all():
                wrong.append(mark)

    threads = [threading.Thread(target=work, args=(mark,)) for mark in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
    assert pool.leased_bytes == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_pool_from_before_a_fork_keeps_nothing_in_the_child():
    # The parent's other threads may hold the pool's lock at the fork, and in the child nobody lets it go.
    program = """
import os
from wellfed import _native
pool = _native.LeasePool(1 << 20)
held = pool.take(100_000)
child = os.fork()
if child == 0:
    del held
    pool.take(100_000)[:] = 1
    os._exit(pool.free_bytes)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status))
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)

    assert done.stdout.strip() == "0"


def test_large_leases_lie_on_huge_pages():
    assert _native.LeasePool(0).take((3 << 20) + 1).ctypes.data % (2 << 20) == 0
