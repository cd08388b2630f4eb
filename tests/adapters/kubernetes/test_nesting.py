"""Objects nested more deeply than JSON is read here: they are read all the same, and so are others."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, cast

import aiohttp
import pytest

from controller.adapters.kubernetes.client import PykubeClient
from controller.adapters.kubernetes.nesting import MOST_LEVELS, ShallowLines, without_depths
from controller.domain.releases.bundle_object import MAX_LEVELS, parse_bundle
from controller.errors import SpecInvalid
from controller.ports.kubernetes import HELMBUNDLE
from tests.adapters.kubernetes.test_kube_answers import _connection, _Proxy, proxy

__all__ = ["proxy"]


def nested(levels: int) -> str:
    return '{"a": [' * (levels // 2) + '"]}\\"{"' + "]}" * (levels // 2)


def depth(value: Any) -> int:
    found = 0
    while isinstance(value, dict | list):
        value, found = (value["a"] if isinstance(value, dict) else value[0]), found + 1
    return found


@pytest.mark.parametrize("levels", [2, MOST_LEVELS])
def test_what_can_be_read_is_left_as_it_is(levels: int) -> None:
    text = f"[{nested(levels - 2)}, {', '.join(['{}'] * 1000)}]".encode()
    assert without_depths(text) == text


@pytest.mark.parametrize("levels", [MOST_LEVELS + 2, 2000, 9000])
def test_what_is_too_deep_is_a_text_and_the_rest_as_it_was(levels: int) -> None:
    text = f'{{"a": {nested(levels)}, "more": [{", ".join(["{}"] * 1000)}], "b": {nested(levels)}}}'
    found = json.loads(without_depths(text.encode()))
    assert depth(found["a"]) == depth(found["b"]) == MOST_LEVELS - 1
    assert found["more"] == [{}] * 1000


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_a_watch_goes_on_after_such_an_object(size: int) -> None:
    events = [{"type": "ADDED", "object": {}}, {"type": "MODIFIED", "object": {"b": 1}}]
    text = f'{json.dumps(events[0])}\n{{"a": {nested(2000)}}}\n{json.dumps(events[1])}\n'.encode()

    class Content:
        async def iter_chunked(self, _: int) -> AsyncIterator[bytes]:
            for start in range(0, len(text), size):
                yield text[start : start + size]

    async def read() -> list[bytes]:
        lines = ShallowLines(cast(aiohttp.StreamReader, Content()))
        return b"".join([part async for part in lines.iter_chunked(size)]).split(b"\n")

    first, deep, last, rest = asyncio.run(read())
    assert [json.loads(first), json.loads(last), rest] == [*events, b""]
    assert depth(json.loads(deep)["a"]) == MOST_LEVELS - 1


def test_a_list_with_such_an_object_has_the_others(proxy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    body = f'{{"items": [{{"spec": {nested(2000)}}}, {{"spec": {{}}}}]}}'.encode()
    monkeypatch.setattr(_Proxy, "body", body)
    found = PykubeClient(_connection(proxy.server_port)).list(HELMBUNDLE, "openstack")
    assert [one["spec"] == {} for one in found] == [False, True]


def test_a_bundle_says_that_its_values_are_nested_too_deeply() -> None:
    values = json.loads('{"a":' * MAX_LEVELS + "1" + "}" * MAX_LEVELS)
    release = {"name": "web", "chart": {"name": "web", "path": "web"}, "values": values}
    meta = {"name": "web", "namespace": "openstack", "uid": "1"}
    with pytest.raises(SpecInvalid, match=f"nested more than {MAX_LEVELS} levels"):
        parse_bundle({"metadata": meta, "spec": {"releases": [release]}})
