"""What a feature of an Example is parsed into: TensorFlow's `tf.io` specifications, and `RawFeature`.

    FixedLenFeature(shape, dtype)      exactly prod(shape) values a row   -> array (B, *shape), or Bytes
    VarLenFeature(dtype)               any number of values a row         -> Ragged
    RawFeature(shape, dtype)           one byte string of exactly prod(shape) items -> array (B, *shape)

A dtype is `np.int64`, `np.float32`, or `bytes` (TensorFlow's `tf.string`).
"""
