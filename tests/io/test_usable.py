"""How many cores and how much memory a process may use, from files and variables as systems write them."""

import math

import pytest

from wellfed.io.usable import (
    available_memory,
    cpu_quota,
    local_ranks,
    memory_limit,
    share_of,
    usable_cores,
    usable_memory,
)


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")


@pytest.mark.parametrize(
    ("membership", "files", "quota"),
    [
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
        ("0::/\n", {"cpu.max": "max 100000\n"}, math.inf),
        ("0::/\n", {}, math.inf),
        ("0::/a/b\n", {"a/cpu.max": "200000 100000\n", "a/b/cpu.max": "max 100000\n"}, 2.0),
        ("0::/a/b\n", {"a/cpu.max": "200000 100000\n", "a/b/cpu.max": "50000 100000\n"}, 0.5),
        ("0::/not/mounted/here\n", {"cpu.max": "300000 100000\n"}, 3.0),
        (
            "4:cpu,cpuacct:/docker/x\n3:memory:/docker/x\n",
            {"cpu,cpuacct/docker/x/cpu.cfs_quota_us": "250000", "cpu,cpuacct/docker/x/cpu.cfs_period_us": "100000"},
            2.5,
        ),
        ("4:cpu:/x\n", {"cpu/cpu.cfs_quota_us": "400000", "cpu/cpu.cfs_period_us": "100000"}, 4.0),
        ("4:cpu:/x\n", {"cpu/x/cpu.cfs_quota_us": "-1", "cpu/x/cpu.cfs_period_us": "100000"}, math.inf),
        ("0::/\n", {"cpu.max": "nonsense"}, math.inf),
    ],
)
def test_a_quota_is_the_least_of_a_group_and_those_above_it(tmp_path, membership, files, quota):
    write(tmp_path, {"membership": membership} | {f"root/{name}": text for name, text in files.items()})
    (tmp_path / "root").mkdir(exist_ok=True)

    assert cpu_quota(tmp_path / "membership", tmp_path / "root") == quota


def test_a_system_without_groups_has_no_quota(tmp_path):
    assert cpu_quota(tmp_path / "nothing", tmp_path) == math.inf


@pytest.mark.parametrize(
    ("membership", "files", "limit"),
    [
        ("0::/\n", {"memory.max": "1073741824\n"}, 1 << 30),
        ("0::/\n", {"memory.max": "max\n"}, math.inf),
        ("0::/a/b\n", {"a/memory.max": "2000\n", "a/b/memory.max": "max\n"}, 2000),
        ("3:memory:/docker/x\n", {"memory/docker/x/memory.limit_in_bytes": "5000\n"}, 5000),
        ("3:memory:/docker/x\n", {"memory/memory.limit_in_bytes": "9000\n"}, 9000),
        ("4:cpu:/x\n", {"cpu/x/memory.limit_in_bytes": "5000\n"}, math.inf),
        ("0::/\n", {"memory.max": "nonsense"}, math.inf),
    ],
)
def test_a_limit_of_memory_is_the_least_of_a_group_and_those_above_it(tmp_path, membership, files, limit):
    write(tmp_path, {"membership": membership} | {f"root/{name}": text for name, text in files.items()})

    assert memory_limit(tmp_path / "membership", tmp_path / "root") == limit


@pytest.mark.parametrize(
    ("text", "found"),
    [("MemTotal:  30 kB\nMemAvailable:   12 kB\nBuffers: 1 kB\n", 12 << 10), ("MemTotal:  30 kB\n", math.inf)],
)
def test_available_memory_is_what_the_system_says(tmp_path, text, found):
    (tmp_path / "meminfo").write_text(text, encoding="ascii")

    assert available_memory(tmp_path / "meminfo") == found


def test_a_system_that_says_nothing_of_memory_has_no_limit(tmp_path):
    assert available_memory(tmp_path / "nothing") == math.inf


def test_this_process_may_use_some_memory():
    assert usable_memory() > 1 << 20


@pytest.mark.parametrize(
    ("bound", "present", "quota", "ranks", "cores"),
    [
        (8, 8, math.inf, 1, 8),
        (8, 64, math.inf, 1, 8),
        (8, 8, 1.5, 1, 2),
        (8, 8, 0.1, 1, 1),
        (8, 8, math.inf, 4, 2),
        (8, 8, math.inf, 16, 1),
        (8, 64, math.inf, 8, 8),
        (64, 64, 16.0, 8, 2),
    ],
    ids=["all", "bound", "quota", "small quota", "ranks", "many ranks", "ranks that are bound", "quota and ranks"],
)
def test_cores_are_the_least_of_binding_quota_and_share(bound, present, quota, ranks, cores):
    assert share_of(bound, present, quota, ranks) == cores


@pytest.mark.parametrize(
    ("environment", "ranks"),
    [
        ({}, 1),
        ({"LOCAL_WORLD_SIZE": "8"}, 8),
        ({"OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, 2),
        ({"SLURM_NTASKS_PER_NODE": "4(x2)"}, 1),
        ({"LOCAL_WORLD_SIZE": "0"}, 1),
    ],
)
def test_ranks_on_this_host_are_what_the_launcher_says(environment, ranks):
    assert local_ranks(environment) == ranks


def test_this_machine_has_a_core():
    assert usable_cores() >= 1
