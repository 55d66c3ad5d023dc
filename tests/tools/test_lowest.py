"""The oldest environment: the lowest versions that pyproject.toml states, and of all else what the checks run with."""

from __future__ import annotations

import pytest

import lowest

KNOWN = "# Tools.\nnumpy==2.4.6\npytest==9.2.0\n"


def project(*dependencies):
    return {
        "dependencies": list(dependencies),
        "optional-dependencies": {"pyarrow": ["pyarrow>=15"], "jax": ["jax>=1"]},
    }


def test_a_lower_bound_becomes_the_version_itself_and_other_packages_stay():
    found = lowest.constraints(project("numpy>=1.26", "click>=8.2"), KNOWN)

    assert found == ["numpy==1.26", "click==8.2", "pyarrow==15", "pytest==9.2.0"]


@pytest.mark.parametrize(
    "requirement", ["numpy", "numpy~=1.26", "numpy>=1.26,<3", "numpy>=1.26; python_version<'3.12'"]
)
def test_a_package_without_a_plain_lower_bound_is_refused(requirement):
    with pytest.raises(ValueError, match="NAME>=VERSION is due"):
        lowest.constraints(project(requirement), KNOWN)


def test_pyproject_states_a_lowest_version_of_each_package(capsys):
    assert lowest.main() == 0
    assert {"numpy", "pyarrow", "pytest"} < {line.partition("==")[0] for line in capsys.readouterr().out.split()}
