"""Feeds for other libraries, one file each: `torch`, `jax`, `tensorflow`, `arrow`.

Each imports its library, so import the one you use: `from wellfed.adapters.torch import TorchLoader`. Where the library
is not installed, that line raises `MissingExtraError` and says what to install.
"""

from wellfed.adapters.loader import Loader

__all__ = ["Loader"]
