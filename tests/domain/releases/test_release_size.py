"""The size of a release's record: estimated, warned of, refused."""

from __future__ import annotations

import base64
import gzip
import json
import random

import pytest

from controller.domain.releases.sizes.release_size import LIMIT, nearly_too_large, release_octets, too_large


@pytest.mark.parametrize(
    ("octets", "warned", "refused"),
    [
        (0, False, False),
        (int(0.7 * LIMIT) - 1, False, False),
        (int(0.7 * LIMIT) + 1, True, False),
        (LIMIT, True, False),
        (LIMIT + 1, False, True),
    ],
)
def test_warned_from_seventy_per_cent_and_refused_above_the_limit(
    octets: int, warned: bool, refused: bool
) -> None:
    assert (bool(nearly_too_large(octets)), bool(too_large(octets))) == (warned, refused)


def test_the_refusal_shows_the_size_and_what_to_do() -> None:
    text = too_large(2 * LIMIT)
    assert "2048 KiB" in text
    assert "1024 KiB" in text
    assert "make its values smaller" in text


def test_what_cannot_be_packed_counts_in_full() -> None:
    noise = random.Random(1).randbytes(90_000)
    text = base64.b64encode(noise).decode()
    plain = release_octets({}, {}, {}, "")
    assert release_octets({}, {}, {"a": text}, "") - plain == pytest.approx(90_000 * 4 / 3, rel=0.02)
    both = release_octets({"templates/a.yaml": noise}, {}, {"a": text}, "")
    packed = len(gzip.compress(json.dumps([text, text]).encode(), 9)) * 4 / 3
    assert both - plain == pytest.approx(packed, rel=0.05)


def test_subcharts_are_not_recorded() -> None:
    files = {"templates/a.yaml": b"kind: A"}
    noise = random.Random(1).randbytes(10_000)
    assert release_octets({**files, "charts/lib/templates/_x.tpl": noise}, {}, {}, "") == release_octets(
        files, {}, {}, ""
    )
