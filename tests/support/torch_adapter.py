"""PyTorch, and wellfed's adapter for it, imported by the tests that need them alone."""

import pytest


@pytest.fixture
def torch():
    """PyTorch, on one thread."""
    import torch

    torch.set_num_threads(1)
    return torch


@pytest.fixture
def adapter(torch):
    """`wellfed.adapters.torch`."""
    from wellfed.adapters import torch as adapter

    return adapter
