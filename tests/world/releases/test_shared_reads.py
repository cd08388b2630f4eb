"""In the world, what is read shares its parts with what is stored: no container of ours may change them."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest

from tests.fakes.kube import FakeKube
from tests.sweeps import swept
from tests.world.releases.search import PLAY


class CopyingKube(FakeKube):
    """Gives everything as a copy, whatever is asked for."""

    def __init__(self, *given: Any, shares: bool = False, **more: Any) -> None:
        super().__init__(*given, **more)


@pytest.mark.slow
@pytest.mark.parametrize("seed", swept([18, 27, 4000043], daily=[4000043]))
def test_a_sequence_is_the_same_where_nothing_is_shared(seed: int) -> None:
    plot = PLAY.draw(seed)
    broken, shared, met = PLAY.perform(plot)
    with patch("tests.world.releases.cluster.FakeKube", CopyingKube):
        broken_with_copies, copied, met_with_copies = PLAY.perform(plot)
    assert (str(broken_with_copies), copied, met_with_copies) == (str(broken), shared, met)
