"""The offer of any cluster is one document: read whole, or refused with the field that is wrong."""

from __future__ import annotations

import base64
import random
import struct

import pytest

from controller.domain.credentials.ceph.offer import CephOffer, OfferedPool, Place
from controller.domain.credentials.ceph.own_offer import parse_own_offer
from tests.domain.credentials.ceph.samples import DOCUMENT, FSID, KEYS

PLACE = Place("Secret", "openstack-ceph")


def read(text: str) -> CephOffer:
    return parse_own_offer(PLACE, {"ceph.yaml": text})


def key_without_a_type() -> str:
    return base64.b64encode(struct.pack("<HIIH", 0, 1_700_000_000, 0, 16) + bytes(16)).decode()


def problem(text: str) -> str:
    offer = read(text)
    assert len(offer.problems) == 1
    return offer.problems[0].message


def test_all_of_it_is_read() -> None:
    offer = read(DOCUMENT)
    assert (offer.fsid, offer.problems, offer.gateway_url) == (FSID, (), "https://rgw.example.org")
    assert [str(monitor) for monitor in offer.monitors] == [
        "[v2:192.0.2.1:3300]",
        "[v2:192.0.2.2:3300,v1:192.0.2.2:6789]",
    ]
    assert {user: client.key for user, client in offer.clients.items()} == KEYS
    assert offer.clients["glance"].capabilities["osd"] == "profile rbd pool=images"
    assert offer.pools and OfferedPool("volumes", "volumes", "fast") in offer.pools


def test_the_order_of_monitors_and_fields_does_not_matter() -> None:
    head, _, tail = DOCUMENT.partition("clients:")
    first, second = [line for line in head.splitlines() if "v2" in line]
    moved = f"clients:{tail}fsid: {FSID.upper()}\nmonitors:\n{second}\n{first}\n"
    assert read(moved) == read(DOCUMENT)


def test_pools_need_not_be_reported() -> None:
    head, _, rest = DOCUMENT.partition("pools:")
    assert read(head + rest[rest.index("rgw:") :]).pools is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (f"fsid: {FSID}", "fsid: nine", "its fsid is no UUID"),
        (f"fsid: {FSID}", f"fsid: urn:uuid:{FSID}", "its fsid is no UUID"),
        (f"fsid: {FSID}", f"fsid: '{FSID.replace('-', '_')}'", "its fsid is no UUID"),
        (f"fsid: {FSID}", "fsid: 00000000-0000-0000-0000-000000000000", "its fsid is no UUID"),
        (f"fsid: {FSID}", "", 'its "ceph.yaml" has no fsid'),
        ("192.0.2.1:3300", "192.0.2.1", "monitors[1].v2 is not an address with a port"),
        ("192.0.2.1:3300", "mon1:3300", "monitors[1].v2 is not an address with a port"),
        ("192.0.2.1:3300", "2001:db8::1:3300", "monitors[1].v2 is not an address with a port"),
        ("192.0.2.1:3300", "192.0.2.1:0", "monitors[1].v2 has no port from 1 to 65535"),
        *(
            ("192.0.2.1:3300", place, "monitors[1].v2 is an address that other machines cannot reach")
            for place in (
                "0.0.0.0:3300",
                "127.0.0.1:3300",
                "[::]:3300",
                "[::1]:3300",
                "[::ffff:127.0.0.1]:3300",
            )
        ),
        ("192.0.2.1:3300", "224.0.0.1:3300", "monitors[1].v2 is an address that other machines cannot reach"),
        ("192.0.2.1:3300", "192.0.2.2:3300", "monitors[1] repeats an address and port"),
        ("192.0.2.2:6789", "192.0.2.2:3300", "monitors[0] repeats an address and port"),
        (
            '- {v2: "192.0.2.1:3300"}',
            '- "[v2:192.0.2.1:3300,v1:192.0.2.1"',
            "monitors[1] must have v2, v1 or both",
        ),
        ('- {v2: "192.0.2.1:3300"}', "- {v3: x}", "monitors[1] must have v2, v1 or both, and nothing else"),
        ('- {v2: "192.0.2.1:3300"}', "- {}", "monitors[1] must have v2, v1 or both, and nothing else"),
        ("clients:", "users:", 'its "ceph.yaml" has fields other than fsid, monitors, clients, pools, rgw'),
        ("role: vms", "role: disks", "each of its pools needs a role, one of images, volumes, vms"),
        ("volumeType: fast", "volumeType: 7", "the volumeType of a pool is not a string"),
        (
            "https://rgw.example.org",
            "rgw.example.org",
            "the field rgw needs url: http:// or https:// with a host",
        ),
        (
            "https://rgw.example.org",
            "https://a:b@rgw",
            "the field rgw needs url: http:// or https:// with a host",
        ),
        ("fsid:", "fsid: [", 'its "ceph.yaml" is not YAML, line '),
        ("fsid:", "fsid: a\nfsid:", 'its "ceph.yaml" is not YAML, line '),
        ("pools:", "---\npools:", 'its "ceph.yaml" is not one map'),
    ],
)
def test_what_is_wrong_is_named_and_leaves_nothing(old: str, new: str, message: str) -> None:
    assert old in DOCUMENT
    offer = read(DOCUMENT.replace(old, new))
    assert offer.problems[0].message.startswith(message)
    assert not offer.monitors and not offer.clients


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "[]",
        "a",
        "null",
        "&a [*a]",
        "a: &a [x]\nb: *a",
        "{" * 5000,
        "x" * 70_000,
        "fsid: !!python/none x",
    ],
)
def test_what_is_no_offer_at_all_is_refused(text: str) -> None:
    assert problem(text).startswith(('the Secret has no "ceph.yaml"', 'its "ceph.yaml"', "its "))


def test_a_secret_that_is_not_there_is_reported_with_where_its_form_stands() -> None:
    assert "docs/ceph.md" in parse_own_offer(PLACE, None).problems[0].message


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{}", "clients.glance has no key"),
        ("{key: 7}", "clients.glance has no key"),
        ("{key: abc}", "clients.glance .key is not a key of Ceph"),
        (f"{{key: {key_without_a_type()}}}", "clients.glance .key is not a key of Ceph"),
        (
            f"{{key: {base64.b64encode(b'x' * 28).decode()}}}",
            "clients.glance .key is only a part of a key of Ceph",
        ),
        ("{keyring: abc}", "clients.glance must have key, may have caps, and nothing else"),
        ("text", "clients.glance must have key, may have caps, and nothing else"),
        ("{key: KEY, caps: [a]}", "clients.glance .caps is not a map of strings"),
        ("{key: KEY, caps: {osd: 7}}", "clients.glance .caps is not a map of strings"),
    ],
)
def test_a_client_that_cannot_be_read_is_a_problem_of_its_own(entry: str, message: str) -> None:
    head, _, rest = DOCUMENT.partition("  glance:")
    whole = f"{head}  glance: {entry.replace('KEY', KEYS['glance'])}\n{rest[rest.index('  cinder:') :]}"
    offer = read(whole)
    assert [one.message for one in offer.problems] == [message]
    assert offer.problems[0].client == "glance" and "cinder" in offer.clients and offer.monitors


def test_a_client_with_the_administrators_key_is_refused_and_so_is_any_key_of_two_clients() -> None:
    offer = read(DOCUMENT.replace("clients:\n", f"clients:\n  admin: {{key: {KEYS['cinder']}}}\n"))
    assert [one.message for one in offer.problems if one.client == "cinder"] == [
        (
            "clients.cinder has the same key as another client; use the key that ceph auth get-key "
            "prints for each"
        )
    ]
    assert offer.clients.keys() == KEYS.keys() - {"cinder"} and offer.monitors


@pytest.mark.slow
def test_whatever_is_drawn_is_read_or_refused_and_never_quoted() -> None:
    drawn = random.Random(2)
    for _ in range(400):
        place = drawn.randrange(len(DOCUMENT))
        noise = "".join(drawn.choices("{}[]:,-&*!#\n\t\"' aZ0\0", k=drawn.randrange(1, 12)))
        text = DOCUMENT[:place] + noise + DOCUMENT[place + drawn.randrange(0, 8) :]
        offer = read(text)
        assert read(text) == offer
        shown = repr(offer)
        assert not any(key in shown or key[:20] in shown for key in KEYS.values())
