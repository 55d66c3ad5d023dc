"""What needs an optional library that is not installed says what to type; the rooms themselves need none of them."""

from __future__ import annotations

import importlib
import sys

import pytest

from wellfed.errors import MissingExtraError
from wellfed.packing import dask_executor, ray_executor

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


class RayWithoutClient:
    """Says what Ray says where its client is not installed."""

    def init(self, address, **_options):
        raise ValueError(f"{address}: Ray Client requires pip package `ray[client]`.")


def test_a_ray_without_its_client_says_which_extra_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", RayWithoutClient())

    with pytest.raises(MissingExtraError, match=r'needs ray\[client\]: pip install "wellfed\[ray\]"'):
        ray_executor("ray://10.0.0.1:10001").__enter__()


@pytest.mark.parametrize(("connect", "package"), [(dask_executor, "distributed"), (ray_executor, "ray")])
def test_a_cluster_whose_client_is_not_installed_says_what_to_install(monkeypatch, connect, package):
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(MissingExtraError, match=rf"packing on .* needs {package}: pip install"):
        connect("tcp://10.0.0.1:8786").__enter__()
