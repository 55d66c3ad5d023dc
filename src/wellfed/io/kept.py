"""What an object makes once and keeps, under a lock of its own.

`functools.cached_property` of Python 3.11 has one lock for all objects of a class: whoever waits for one data set's
store would have the others wait too. From 3.12 on it has none: two threads would make the same index twice.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    kept = cached_property
else:

    class kept(cached_property):  # noqa: N801 -- a decorator.
        """As `cached_property`, of an object with an `RLock` named `_making`."""

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """The value, made by whoever asks first."""
            if instance is None:
                return self
            with instance._making:
                if self.attrname not in instance.__dict__:
                    instance.__dict__[self.attrname] = self.func(instance)
            return instance.__dict__[self.attrname]
