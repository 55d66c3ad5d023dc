"""An adapter whose library is not installed says what to type; the room itself needs none of them."""

from __future__ import annotations

import importlib
import sys

import pytest

from wellfed.errors import MissingExtraError

ADAPTERS = {
    "arrow": ("pyarrow", r'wellfed\.adapters\.arrow needs pyarrow: pip install "wellfed\[pyarrow\]"'),
    "jax": ("jax", r'wellfed\.adapters\.jax needs JAX: pip install "wellfed\[jax\]"'),
    "tensorflow": ("tensorflow", r'needs TensorFlow: pip install "wellfed\[tensorflow\]"'),
    "torch": ("torch", r'wellfed\.adapters\.torch needs PyTorch: pip install "wellfed\[torch\]"'),
}


@pytest.mark.parametrize(("name", "package", "text"), [(name, *due) for name, due in ADAPTERS.items()], ids=ADAPTERS)
def test_an_adapter_without_its_library_says_what_to_install(monkeypatch, name, package, text):
    monkeypatch.setitem(sys.modules, package, None)  # As where it is not installed.
    monkeypatch.delitem(sys.modules, f"wellfed.adapters.{name}", raising=False)

    with pytest.raises(MissingExtraError, match=text):
        importlib.import_module(f"wellfed.adapters.{name}")
