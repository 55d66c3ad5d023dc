"""TensorFlow 1's input queues as plain Python objects: bounded, typed, for any number of threads, closed in order.

    producers    string_input_producer, range_input_producer, slice_input_producer: a list, epoch after epoch
    queues       FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue, PriorityQueue
    batchers     batch, shuffle_batch, ..._join, maybe_...: functions run ahead in threads, batches out
    threads      QueueRunner, start_queue_runners; Coordinator stops them together and keeps the first true error

Inside: `spec` (what an element is), `storage` (where elements are and who is next), `engine` (who is served when),
`kinds` (the four queues), `coordinator`, `runner`, `stream`, `producers`, `batching`.
"""

from __future__ import annotations

from wellfed.queues.base import QueueBase
from wellfed.queues.batching import (
    batch,
    batch_join,
    maybe_batch,
    maybe_batch_join,
    maybe_shuffle_batch,
    maybe_shuffle_batch_join,
    shuffle_batch,
    shuffle_batch_join,
)
from wellfed.queues.coordinator import Coordinator, LooperThread
from wellfed.queues.kinds import FIFOQueue, PaddingFIFOQueue, PriorityQueue, RandomShuffleQueue
from wellfed.queues.producers import (
    input_producer,
    limit_epochs,
    range_input_producer,
    slice_input_producer,
    string_input_producer,
)
from wellfed.queues.runner import QueueRunner, start_queue_runners
from wellfed.queues.stream import Stream

__all__ = [
    "Coordinator",
    "FIFOQueue",
    "LooperThread",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "QueueBase",
    "QueueRunner",
    "RandomShuffleQueue",
    "Stream",
    "batch",
    "batch_join",
    "input_producer",
    "limit_epochs",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "range_input_producer",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "start_queue_runners",
    "string_input_producer",
]
