"""The manifest of a backup: written and read again, and hostile ones refused with a path."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.domain.backups.manifest import (
    LARGEST_MANIFEST,
    BackupFile,
    BackupManifest,
    DatabaseDump,
    NotIncluded,
    manifest_document,
    parse_manifest,
)
from controller.errors import BackupUnusable, ManifestInvalid

MANIFEST = BackupManifest(
    id="20261127T020000Z-a1b2c3",
    namespace="openstack",
    region="region-one",
    created="2026-11-27T02:00:00Z",
    controller_version="0.1.0",
    openstack_version="2025.2",
    server_version="10.11.19-MariaDB-0+deb12u1",
    gtid="0-1-42,1-1-7",
    databases=(DatabaseDump("keystone", "databases/keystone.sql", 10, {"user": 3, "project": 2}),),
    files=(
        BackupFile("databases/keystone.sql", 10, "0" * 64),
        BackupFile("secrets.json", 7, "ab" * 32),
    ),
    not_included=(NotIncluded("images of Glance", "replicate the store"),),
)


def test_what_is_written_is_read_again_with_sums() -> None:
    found = parse_manifest(manifest_document(MANIFEST))
    assert found == MANIFEST
    assert (found.size, found.databases[0].rows) == (17, 5)
    assert found.file("secrets.json") == MANIFEST.files[1]
    assert found.file("other") is None
    assert manifest_document(found) == manifest_document(MANIFEST)


def broken(change: Callable[[dict[str, Any]], Any]) -> bytes:
    whole = json.loads(manifest_document(MANIFEST))
    change(whole)
    return json.dumps(whole).encode()


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda m: m.update(format="x"), "manifest.json:format"),
        (lambda m: m.update(version=2), "manifest.json:version"),
        (lambda m: m.update(version=True), "manifest.json:version"),
        (lambda m: m.update(id="../../etc"), "manifest.json:id"),
        (lambda m: m["region"].update(name="a/b"), "manifest.json:region.name"),
        (lambda m: m["region"].pop("namespace"), "manifest.json:region.namespace"),
        (lambda m: m.update(region=[]), "manifest.json:region"),
        (lambda m: m.update(created="yesterday"), "manifest.json:created"),
        (lambda m: m.update(more=1), "manifest.json"),
        (lambda m: m["files"][1].update(path="../secrets.json"), "manifest.json:files[1].path"),
        (lambda m: m["files"][1].update(path="/etc/passwd"), "manifest.json:files[1].path"),
        (lambda m: m["files"][1].update(path="a/../b"), "manifest.json:files[1].path"),
        (lambda m: m["files"][1].update(path="a\n"), "manifest.json:files[1].path"),
        (lambda m: m["files"][1].update(size=-1), "manifest.json:files[1].size"),
        (lambda m: m["files"][1].update(size=1e3), "manifest.json:files[1].size"),
        (lambda m: m["files"][1].update(sha256="AB" * 32), "manifest.json:files[1].sha256"),
        (lambda m: m["files"].append(m["files"][0]), "manifest.json:files"),
        (lambda m: m["databases"][0].update(name="a`; DROP"), "manifest.json:databases[0].name"),
        (lambda m: m["databases"][0].update(tables={"a`b": 1}), "manifest.json:databases[0].tables"),
        (lambda m: m["databases"][0].update(tables={"a": True}), "manifest.json:databases[0].tables"),
        (lambda m: m["databases"][0].update(file="other.sql"), "manifest.json:databases[0].file"),
        (lambda m: m["databases"].append(m["databases"][0]), "manifest.json:databases"),
        (lambda m: m.update(databases=[{}] * 10_001), "manifest.json:databases"),
        (lambda m: m["notIncluded"][0].update(what="\x1b[2J"), "manifest.json:notIncluded[0].what"),
    ],
)
def test_a_changed_manifest_is_refused_with_the_path(
    change: Callable[[dict[str, Any]], Any], path: str
) -> None:
    with pytest.raises(ManifestInvalid) as refused:
        parse_manifest(broken(change))
    assert path in [one.path for one in refused.value.problems]
    assert all(one.remedy for one in refused.value.problems)


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"null",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b'{"size": NaN}',
        manifest_document(MANIFEST)[:-40],
        manifest_document(MANIFEST).replace(b'"gtid"', b'"id"'),
        b" " * (LARGEST_MANIFEST + 1),
        b'{"format": "openstack-controller backup", "version": ' + b"9" * 5000 + b"}",
    ],
)
def test_no_other_document_is_a_manifest(document: bytes) -> None:
    with pytest.raises(BackupUnusable):
        parse_manifest(document)


def test_a_hostile_manifest_of_many_mistakes_has_a_short_answer() -> None:
    with pytest.raises(ManifestInvalid) as refused:
        parse_manifest(broken(lambda m: m.update(files=[{"secret": "s3cr3t"}] * 10_000)))
    assert len(str(refused.value)) < 10_000
    assert "s3cr3t" not in str(refused.value)


def test_an_empty_region_has_a_manifest() -> None:
    bare = replace(MANIFEST, databases=(), files=(), not_included=(), gtid="", server_version="")
    assert parse_manifest(manifest_document(bare)) == bare


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda c: st.lists(c) | st.dictionaries(st.text(), c),
        max_leaves=8,
    )
)
def test_nothing_else_than_a_refusal_comes_of_any_value_of_any_field(value: Any) -> None:
    for key in json.loads(manifest_document(MANIFEST)):
        with suppress(BackupUnusable):
            parse_manifest(broken(lambda m, key=key: m.update({key: value})))
