"""Shared by the programs: the module under test, a folder to work in, and the line of facts at the end."""

from __future__ import annotations

import importlib
import json
import sys


def start():
    """Gives the module named on the command line, and the folder; TensorFlow is put into graph mode."""
    module = importlib.import_module(sys.argv[1])
    if sys.argv[1] == "tensorflow.compat.v1":
        module.disable_v2_behavior()
    return module, sys.argv[2]


def facts(**found):
    """Prints what was seen, as one line."""
    print(json.dumps(found, sort_keys=True, default=str))
