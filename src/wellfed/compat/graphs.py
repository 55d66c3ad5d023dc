"""Graphs, scopes, collections and settings under TensorFlow's names at the top."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wellfed.compat.deferred.graph import get_default_graph
from wellfed.compat.deferred.runners import QUEUE_RUNNERS
from wellfed.compat.state import GLOBAL_VARIABLES, LOCAL_VARIABLES

if TYPE_CHECKING:
    from collections.abc import Callable


class GraphKeys:
    """The names of a graph's collections."""

    QUEUE_RUNNERS = QUEUE_RUNNERS
    GLOBAL_VARIABLES = VARIABLES = GLOBAL_VARIABLES
    LOCAL_VARIABLES = LOCAL_VARIABLES
    GLOBAL_STEP = "global_step"
    SUMMARIES = "summaries"
    TABLE_INITIALIZERS = "table_initializer"


class ConfigProto:
    """Settings of a session, all of which are ignored: any may be given, set and read."""

    def __init__(self, **settings: Any) -> None:
        self.__dict__.update(settings)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.__dict__[name] = ConfigProto()
        return self.__dict__[name]


GPUOptions = ConfigProto


def add_to_collection(name: str, value: Any) -> None:
    """Adds a value to those that the default graph keeps under a name."""
    get_default_graph().add_to_collection(name, value)


def get_collection(key: str, scope: str | None = None) -> list[Any]:
    """Gives the values that the default graph keeps under a name."""
    return get_default_graph().get_collection(key, scope)


def name_scope(name: str | None, default_name: str | None = None, values: Any = None) -> Any:
    """Puts a name in front of those of operations made inside a `with`."""
    del values
    return get_default_graph().name_scope(name or default_name)


variable_scope = name_scope


def device(device_name: Any) -> Any:
    """Does nothing: there is one device."""
    return get_default_graph().device(device_name)


def disable_v2_behavior(*_: Any, **__: Any) -> None:
    """Does nothing: TensorFlow 1's names defer themselves, and TensorFlow 2's do where they have to."""


disable_eager_execution = enable_eager_execution = enable_v2_behavior = disable_v2_behavior
disable_v2_tensorshape = enable_resource_variables = disable_resource_variables = disable_v2_behavior


def executing_eagerly() -> bool:
    """Says whether values are there at once: everywhere but in a function that is being traced."""
    return not get_default_graph().tracing


def function(func: Callable[..., Any] | None = None, **_: Any) -> Any:
    """Gives a function as it is: there is nothing to compile."""
    return func if func is not None else lambda inner: inner
