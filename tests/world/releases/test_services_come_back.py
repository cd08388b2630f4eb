"""A service that comes back before all of it has gone."""

from __future__ import annotations

import pytest

from tests.world.driver import Draw, Event
from tests.world.releases.events import person_leaves_release_pending
from tests.world.releases.region import SERVICE_OF
from tests.world.releases.rest import unrest
from tests.world.releases.world import Setting, World

pytestmark = pytest.mark.slow

MARIADB = list(SERVICE_OF).index("mariadb")


def test_what_needs_it_is_installed_once_it_has_gone_and_come_back() -> None:
    """Else it would wait for what needs it, which is there to stay."""
    world = World(Setting())
    world.begin()
    # Someone's Helm is at the database, and holds up its uninstall.
    assert person_leaves_release_pending(world, Draw(Event("", (MARIADB,))))
    world.cluster.edit_region({"features": {"services": {"disabled": ["image", "identity", "database"]}}})
    world.live(100.0)
    assert world.cluster.raw("HelmBundle", "identity") is None
    assert world.cluster.raw("HelmBundle", "database") is not None
    world.cluster.edit_region({"features": {"services": {"disabled": []}}})
    world.live(2400.0)
    assert unrest(world) == []
