"""Servers and clients speak TLS with each other at every step of a change of authority: real handshakes, on
loopback, with certificates shown by both sides, at Python's strictest."""

from __future__ import annotations

import asyncio
import ssl
import time
from itertools import product
from pathlib import Path

import pytest

from controller.domain.api.conditions import timestamp
from controller.domain.credentials.authority import AuthorityRecord, StoredLeaf
from controller.domain.credentials.certificate_lifetimes import AUTHORITY_LIFE, DAY
from controller.domain.credentials.certificate_secrets import parse_record, record_texts
from controller.domain.credentials.x509.issued import new_authority
from tests.domain.credentials.test_authority import EARLIER, NAMES, World
from tests.fakes.world import FakeRandomness

pytestmark = pytest.mark.slow


class Region(World):
    """Whose clock is that of the machine, and whose authority is two thirds through its life."""

    def check(self) -> None:
        """Left to real handshakes."""

    def settled(self, record: AuthorityRecord) -> bool:
        """By what runs alone: `later` has changed the record."""
        return self.running == self.secrets and all(
            leaf.trusted == record.bundle for leaf in self.secrets.values()
        )

    def later(self) -> None:
        """As if the generation were due."""
        self.record["generation"] = timestamp(self.now - 31 * DAY)


@pytest.fixture
def region() -> Region:
    EARLIER.clear()
    now = time.time()
    begin = now - AUTHORITY_LIFE * 0.7
    old = new_authority("test", begin, begin + AUTHORITY_LIFE, FakeRandomness(3))
    made = Region(now=now, record=record_texts(AuthorityRecord(now - 10 * DAY, old), None))
    made.turn()
    return made


def context(leaf: StoredLeaf, place: Path, *, server: bool) -> ssl.SSLContext:
    place.write_text(leaf.chain + leaf.key)
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    found.load_cert_chain(place)
    found.load_verify_locations(cadata=leaf.trusted)
    found.verify_mode = ssl.CERT_REQUIRED
    found.verify_flags |= ssl.VERIFY_X509_STRICT
    return found


def speak(server: StoredLeaf, client: StoredLeaf, name: str, tmp_path: Path) -> bool:
    """Whether a word comes back."""
    ends = [context(leaf, tmp_path / f"{n}.pem", server=not n) for n, leaf in enumerate((server, client))]

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(4))
        await writer.drain()
        writer.close()

    async def run() -> bool:
        serving = await asyncio.start_server(echo, "127.0.0.1", 0, ssl=ends[0])
        port = serving.sockets[0].getsockname()[1]
        async with serving:
            try:
                reader, writer = await asyncio.open_connection(
                    "127.0.0.1", port, ssl=ends[1], server_hostname=name
                )
                writer.write(b"ping")
                found = await asyncio.wait_for(reader.readexactly(4), 20)
                writer.close()
            except (ssl.SSLError, OSError, asyncio.IncompleteReadError):
                return False
        return found == b"ping"

    return asyncio.run(run())


def everybody_understands_everybody(region: Region, tmp_path: Path) -> None:
    for server, client in product(NAMES, NAMES):
        assert speak(region.running[server], region.running[client], f"{server}.example", tmp_path)


def step(region: Region, tmp_path: Path) -> None:
    """A pass, and its restarts one by one; no one is refused before, between and after."""
    region.reconcile()
    for name in NAMES:
        everybody_understands_everybody(region, tmp_path)
        region.restart(name)
    everybody_understands_everybody(region, tmp_path)


def test_no_client_is_refused_while_the_authority_changes(region: Region, tmp_path: Path) -> None:
    before = dict(region.running)
    region.later()
    for _ in range(3):
        step(region, tmp_path)
    during = dict(region.running)
    assert during["nova"].trusted.count("BEGIN") == 2
    region.later()
    step(region, tmp_path)
    after = region.running["nova"]
    assert after.trusted.count("BEGIN") == 1
    record = parse_record(region.record)
    assert record
    assert record.next is None
    # A client of the first day is not, and does not, trust any more; one of the days between still does.
    assert not speak(after, before["nova"], "nova.example", tmp_path)
    assert not speak(before["nova"], after, "nova.example", tmp_path)
    assert speak(after, during["nova"], "nova.example", tmp_path)


def test_no_client_is_refused_while_a_lost_authority_is_replaced(region: Region, tmp_path: Path) -> None:
    region.record = {}
    for _ in range(3):
        step(region, tmp_path)
    region.later()
    step(region, tmp_path)
    assert region.running["nova"].trusted.count("BEGIN") == 1


def test_who_is_signed_by_another_authority_is_refused(region: Region, tmp_path: Path) -> None:
    other = Region(now=region.now, random=FakeRandomness(77))
    other.turn()
    assert not speak(region.running["nova"], other.running["nova"], "nova.example", tmp_path)
    assert not speak(other.running["nova"], region.running["nova"], "nova.example", tmp_path)


def test_a_server_of_another_name_is_refused(region: Region, tmp_path: Path) -> None:
    assert not speak(region.running["nova"], region.running["keystone"], "keystone.example", tmp_path)
