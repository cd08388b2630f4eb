"""The keys with which Barbican wraps: three lines of its file, of which the first one wraps."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from controller.domain.credentials.generate import WRAPPING_KIND, generate
from controller.domain.credentials.rotation.barbican_key import IN_USE, KEYS, moved_texts
from sandbox.patience import patient
from tests.fakes.world import FakeRandomness
from tests.upstream.option_packages import SERIES, python_of
from tests.upstream.regions import objects, region, releases, specs

pytestmark = pytest.mark.upstream
PROGRAM = """
import json, sys
from types import SimpleNamespace
given = json.load(sys.stdin)
sys.argv = ["barbican"]
from cryptography.fernet import InvalidToken
from barbican.plugin.crypto import simple_crypto
options = SimpleNamespace(kek=given["keks"], plugin_name="test")
plugin = simple_crypto.SimpleCryptoPlugin(SimpleNamespace(simple_crypto_plugin=options))
key = SimpleNamespace(plugin_meta=given["wrapped"], algorithm=None, bit_length=None, mode=None)
plugin.bind_kek_metadata(key)
wrapped = key.plugin_meta if isinstance(key.plugin_meta, str) else key.plugin_meta.decode()
try:
    print(json.dumps([wrapped, plugin._get_kek(key).decode()]))
except InvalidToken:
    print("null")
"""


def test_barbican_wraps_with_the_key_in_use_and_unwraps_with_all(charts: Path) -> None:
    whole = releases(region(charts, specs()["everything"]))
    [barbican] = [one for one in whole if one.spec.name == "barbican"]
    given = {name: base64.b64encode(name.encode().ljust(32, b".")[:32]).decode() for name in KEYS}
    made = objects(barbican, given=given)
    [secret] = [one for one in made if one["metadata"]["name"] == "barbican-etc" and one["kind"] == "Secret"]
    files = {name: base64.b64decode(text).decode() for name, text in secret["data"].items()}
    lines = files["barbican.conf"].partition("[simple_crypto_plugin]")[2].partition("\n[")[0].splitlines()
    assert [line for line in lines if line.startswith("kek")] == [f"kek = {given[name]}" for name in KEYS]
    assert files["old_keks"] == ""


@pytest.mark.parametrize("series", SERIES)
def test_pods_from_before_and_after_a_rotation_unwrap_what_either_has_wrapped(series: str) -> None:
    """The real plugin: what a pod makes, and what is wrapped again, is for both until the rotation after."""
    source = FakeRandomness(1)
    before = {name: generate(WRAPPING_KIND, source) for name in KEYS}
    moved = moved_texts(before, lambda: generate(WRAPPING_KIND, source))
    after = {name: str(moved[name]) for name in KEYS}

    def barbican(texts: Mapping[str, str], wrapped: str | None = None) -> list[str] | None:
        asked = json.dumps({"keks": [texts[name] for name in KEYS], "wrapped": wrapped})
        command = [str(python_of(series)), "-c", PROGRAM]
        answer = subprocess.run(
            command, input=asked, capture_output=True, text=True, check=True, timeout=patient(120)
        )
        found: list[str] | None = json.loads(answer.stdout.splitlines()[-1])
        return found

    old, new = barbican(before), barbican(after)
    assert old is not None and new is not None
    assert barbican(after, old[0]) == old
    assert barbican(before, new[0]) == new
    again = Fernet(after[IN_USE]).encrypt(Fernet(before[IN_USE]).decrypt(old[0])).decode()
    assert barbican(before, again) == [again, old[1]]
    following = moved_texts(after, lambda: generate(WRAPPING_KIND, source))
    later = {name: str(following[name]) for name in KEYS}
    assert barbican(later, again) == [again, old[1]]
    assert barbican(later, old[0]) is None
