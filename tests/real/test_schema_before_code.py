"""Migrations that fail in real pods: the old pods serve until these are repaired, and are then replaced."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sandbox.cluster import Sandbox
from tests.real.failing_migration import assert_no_request_fails

pytestmark = [pytest.mark.real, pytest.mark.timeout(5400)]


def test_no_request_fails_while_a_migration_fails_and_is_mended(
    region: Sandbox, client: Callable[[str], str]
) -> None:
    assert_no_request_fails(region, client)
