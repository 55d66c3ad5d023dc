"""What this process may use of the machine: cores and memory.

Of cores, the least of what it was bound to, its group's quota, and its share:

affinity    taskset, Slurm, Docker's --cpuset-cpus
quota       a control group's CPU time, as Docker's --cpus and Kubernetes' limits set it, of version 1 or 2
share       what is left where several ranks of a job run on this host: LOCAL_WORLD_SIZE and its relatives

Of memory, what the machine has available, files that it keeps included, and at most what its group may use.
"""

from __future__ import annotations

import functools
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    _Read = Callable[[Path], float]

# torchrun's, then Open MPI's, MVAPICH's and Slurm's.
_LOCAL_RANKS = (
    "LOCAL_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MV2_COMM_WORLD_LOCAL_SIZE",
    "SLURM_NTASKS_PER_NODE",
)


def usable_cores() -> int:
    """How many cores this process may keep busy; at least 1."""
    found = getattr(os, "sched_getaffinity", None)
    present = os.cpu_count() or 1
    bound = len(found(0)) if found is not None else present
    return share_of(bound, present, _own_quota(), local_ranks(os.environ))


@functools.cache
def _own_quota() -> float:  # Half a millisecond; groups are set before a program starts.
    return cpu_quota(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))


def share_of(bound: int, present: int, quota: float, ranks: int) -> int:
    """The cores of one rank.

    Args:
      bound: Cores that the process is bound to.
      present: Cores of the machine.
      quota: Cores' worth of time that its group may use; infinite where there is no limit.
      ranks: Ranks of the job on this host.
    """
    cores = min(bound, math.ceil(quota)) if quota < math.inf else bound
    if bound * ranks > present:  # Else each rank was bound to cores of its own.
        cores //= ranks
    return max(cores, 1)


def local_ranks(environment: Mapping[str, str]) -> int:
    """How many ranks of this job run on this host, as its launcher says; 1 where none does."""
    for name in _LOCAL_RANKS:
        value = environment.get(name, "")
        if value.isdigit() and int(value) > 0:
            return int(value)
    return 1


def usable_memory() -> float:
    """Bytes of memory that this process may use; infinite where nothing says. [bytes]."""
    groups = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
    return min(available_memory(Path("/proc/meminfo")), memory_limit(*groups))


def available_memory(meminfo: Path) -> float:
    """What the system could hand out without swapping, files that it keeps included, by /proc/meminfo. [bytes]."""
    try:
        lines = meminfo.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeError):
        return math.inf
    return min((1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")), default=math.inf)


def cpu_quota(membership: Path, root: Path) -> float:
    """Cores' worth of CPU time that this process's control groups allow; infinite where they do not say.

    Args:
      membership: The file that names the groups: /proc/self/cgroup.
      root: Where their files are mounted: /sys/fs/cgroup.
    """
    return _least(membership, root, "cpu", (_quota_1, _quota_2))


def memory_limit(membership: Path, root: Path) -> float:
    """Memory that they allow, files that the system keeps for the process included; see `cpu_quota`. [bytes]."""
    return _least(membership, root, "memory", (_limit_1, _limit_2))


def _least(membership: Path, root: Path, controller: str, read: tuple[_Read, _Read]) -> float:
    """The least that any of the process's groups allows; `read` takes a folder of version 1, and one of version 2."""
    try:
        lines = membership.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeError):
        return math.inf
    found = [math.inf]
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            found += [read[1](folder) for folder in _upwards(root, path)]
        elif controller in controllers.split(","):
            mounts = dict.fromkeys((root / controllers, root / controller))
            found += [read[0](folder) for mount in mounts for folder in _upwards(mount, path)]
    return min(found)


def _upwards(root: Path, path: str) -> Iterator[Path]:
    """The group's folder and all above it: each limits those below. A container often sees its own as the root."""
    folder = root / path.lstrip("/")
    while folder != root and root in folder.parents:
        yield folder
        folder = folder.parent
    yield root


def _quota_2(folder: Path) -> float:
    words = _words(folder / "cpu.max")
    if len(words) != 2 or words[0] == "max":
        return math.inf
    return _ratio(words[0], words[1])


def _quota_1(folder: Path) -> float:
    quota, period = _words(folder / "cpu.cfs_quota_us"), _words(folder / "cpu.cfs_period_us")
    return _ratio(quota[0], period[0]) if quota and period else math.inf


def _limit_1(folder: Path) -> float:
    return _bytes(_words(folder / "memory.limit_in_bytes"))  # A number near 2^63 where there is no limit.


def _limit_2(folder: Path) -> float:
    return _bytes(_words(folder / "memory.max"))


def _bytes(words: list[str]) -> float:
    return int(words[0]) if len(words) == 1 and words[0].isdigit() else math.inf


def _ratio(quota: str, period: str) -> float:
    try:
        found, whole = int(quota), int(period)
    except ValueError:
        return math.inf
    return found / whole if found > 0 and whole > 0 else math.inf  # Version 1 says -1 for no limit.


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").split()
    except (OSError, UnicodeError):
        return []
