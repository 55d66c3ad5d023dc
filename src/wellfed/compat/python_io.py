"""Records from Python: TensorFlow 1's `tf.python_io`."""

from __future__ import annotations

from wellfed.compat.io import TFRecordCompressionType, TFRecordOptions, TFRecordWriter, tf_record_iterator

__all__ = ["TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator"]
