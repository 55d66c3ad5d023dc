"""The long names of queue runners: TensorFlow 1's `tf.train.queue_runner`."""

from __future__ import annotations

from wellfed.compat.deferred.runners import QueueRunner, add_queue_runner, start_queue_runners

__all__ = ["QueueRunner", "add_queue_runner", "start_queue_runners"]
