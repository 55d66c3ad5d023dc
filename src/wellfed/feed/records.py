"""Rows of TFRecord files: opened, walked or indexed as far as somebody asks, read and parsed by one native call a unit.

    file order      each unit's headers are walked when the unit is claimed; no index is needed first
    any other       all files are indexed before the first row is read: from their sidecars, else by a walk each
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wellfed import _native
from wellfed.columns import Bytes
from wellfed.errors import ExampleError, RecordError
from wellfed.example import compile_features
from wellfed.feed import plan
from wellfed.feed.iterator import usable_cores
from wellfed.feed.order import ENDLESS, Positions
from wellfed.feed.unit import Unit
