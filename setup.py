"""What pyproject.toml cannot say: the charts and values that a wheel carries, whole directories of them."""

import os
from pathlib import Path

from setuptools import setup

# controller/settings.py looks for them here.
SHARE = Path("share") / "openstack-controller"


def shipped_files() -> list[tuple[str, list[str]]]:
    """Each directory below charts/ and values/ with its files; links become what they point to."""
    return [
        (str(SHARE / directory), sorted(str(Path(directory) / name) for name in names))
        for top in ("charts", "values")
        for directory, _, names in os.walk(top, followlinks=True)
        if names
    ]


setup(data_files=shipped_files())
