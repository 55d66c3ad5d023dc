"""tf.data (to come)."""
