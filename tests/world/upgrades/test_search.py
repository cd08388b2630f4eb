"""Whatever happens during an upgrade, its steps keep their order, and in peace it comes to its end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.world.driver import Event, fresh_seeds
from tests.world.upgrades.search import EVENTS, PLAY
from tests.world.upgrades.world import Setting

# A sequence of sixty events takes a sixth of a second of one core.
FEW, FRESH, PART, PARTS = 4, 4, 2500, 8


@pytest.mark.slow
def test_nothing_forbidden_happens() -> None:
    PLAY.search(range(FEW)).holds()


@pytest.mark.slow
def test_nothing_forbidden_happens_in_sequences_that_were_never_drawn() -> None:
    PLAY.search(fresh_seeds(FRESH)).holds()


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_forbidden_happens_in_twenty_thousand_sequences(
    part: int, record_property: Callable[[str, object], None]
) -> None:
    report = PLAY.sweep(part, PARTS, PART, record_property)
    assert not report.never((*EVENTS, "core is killed", "conflict", "smoke"))


@pytest.mark.slow
def test_no_further_node_begins_while_pods_of_the_last_ones_are_not_made_yet() -> None:
    work = Event("all_work", (3,))
    PLAY.replay(
        Setting(batch=2, most_failed=1, manual=False),
        Event("person_edits_version", (0,)),
        *(work,) * 5,
        Event("core_dies", (3,)),
    )


@pytest.mark.slow
def test_nodes_that_an_edit_finds_down_are_replaced_although_another_one_failed() -> None:
    PLAY.replay(
        Setting(batch=3, most_failed=0, manual=False),
        Event("person_edits_version", (0,)),
        *(Event("all_work", (3,)),) * 5,
        Event("node_breaks", (264,)),
        Event("all_work", (32,)),
        Event("core_looks", (160,)),
        Event("kubelets_work", (664,)),
        Event("person_edits_values", (98,)),
        Event("core_looks", (199,)),
        Event("all_are_deployed", ()),
    )
