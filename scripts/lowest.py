"""Prints pip's constraints for an environment of the lowest versions that pyproject.toml states.

a dependency, or pyarrow           numpy>=2.0 becomes numpy==2.0, which is 2.0.0
others, such as the tests' tools   their lines in requirements/constraints.txt
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def constraints(project: dict[str, Any], known: str) -> list[str]:
    """Returns a line for each package.

    Args:
      project: The table `[project]` of pyproject.toml.
      known: The text of requirements/constraints.txt.

    Raises:
      ValueError: A package is required in another way than by its lowest version.
    """
    lowest = {}
    for requirement in [*project["dependencies"], *project["optional-dependencies"]["pyarrow"]]:
        name, at_least, version = requirement.partition(">=")
        if not at_least or not version.replace(".", "").isdigit():
            raise ValueError(f"{requirement!r} is required; NAME>=VERSION is due")
        lowest[name] = version
    lines = [line for line in known.splitlines() if line and not line.startswith("#")]
    others = [line for line in lines if line.partition("==")[0] not in lowest]
    return [*(f"{name}=={version}" for name, version in lowest.items()), *others]


def main() -> int:
    """Prints them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    print(*constraints(project, (ROOT / "requirements/constraints.txt").read_text(encoding="utf-8")), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
