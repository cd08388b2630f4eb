"""What all tests share."""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = [
    "sandbox.pytest_plugin",
    "tests.selection",
    "tests.sweep_summary",
    "tests.unasked",
    "tests.order",
]

# What a change is judged by is the same for everyone; the long sweeps look for what no one thought of.
# Neither by its clock: an example during which a busy machine stood still would count as a slow one.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# More of the same examples find nothing new: a third of the usual number.
settings.register_profile("same-every-time", PATIENT, derandomize=True, max_examples=30)
settings.register_profile("searching", PATIENT, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same-every-time"))
LONGEST_ID = 300


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """A text of megabytes is no part of a test's name, which pytest writes and copies many times."""
    return f"{argname} of {len(val)}" if isinstance(val, str | bytes) and len(val) > LONGEST_ID else None


def pytest_collection_finish(session: pytest.Session) -> None:
    """What was imported and collected stays until the end: no need to look through it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """The process ends: pytest's last collections of garbage need not look through all that is left."""
    gc.freeze()
