"""The writer of OCI images: the same tree gives the same bytes, and what it writes is what was specified."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import py_compile
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from sandbox.images.oci import (
    EPOCH,
    Image,
    ImageConfig,
    Layer,
    compress_layer,
    write_archive,
    write_layer,
)
from sandbox.patience import patient
from tests.archives import unpack


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small root file system."""
    root = tmp_path / "root"
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin/tool").write_text("#!/bin/sh\n")
    (root / "usr/bin/tool").chmod(0o755)
    (root / "usr/bin/link").symlink_to("tool")
    os.link(root / "usr/bin/tool", root / "usr/bin/twin")
    (root / "etc").mkdir()
    (root / "etc/name").write_text("value\n")
    return root


def layer_of(tree: Path, place: Path, **options: Any) -> Layer:
    return write_layer(tree, place, owner=(0, 0), **options)


def entries(layer: Layer) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(layer.file) as tar:
        return {entry.name: entry for entry in tar}


def archive(image: Image, names: list[str], **options: Any) -> dict[str, bytes]:
    stream = io.BytesIO()
    write_archive(image, names, stream, **options)
    with tarfile.open(fileobj=io.BytesIO(stream.getvalue())) as tar:
        found = {}
        for entry in tar:
            content = tar.extractfile(entry)
            assert content is not None
            found[entry.name] = content.read()
        return found


def test_a_layer_shows_nothing_of_when_and_in_which_order_it_was_made(tree: Path, tmp_path: Path) -> None:
    first = layer_of(tree, tmp_path / "one.tar")
    for path in (tree / "etc/name", tree / "usr/bin", tree):
        os.utime(path, (1, 1))
    (tree / "etc/name").unlink()
    (tree / "etc/name").write_text("value\n")
    second = layer_of(tree, tmp_path / "two.tar")
    assert (first.digest, first.size) == (second.digest, second.size)
    assert {entry.mtime for entry in entries(first).values()} == {EPOCH}


def test_a_layer_holds_modes_links_and_directories(tree: Path, tmp_path: Path) -> None:
    found = entries(layer_of(tree, tmp_path / "layer.tar"))
    assert list(found) == [
        "etc",
        "etc/name",
        "usr",
        "usr/bin",
        "usr/bin/link",
        "usr/bin/tool",
        "usr/bin/twin",
    ]
    assert found["usr/bin/tool"].mode == 0o755
    assert found["usr/bin/link"].linkname == "tool"
    assert (found["usr/bin/twin"].islnk(), found["usr/bin/twin"].linkname) == (True, "usr/bin/tool")


def test_a_layer_may_keep_some_paths_only_with_the_directories_above(tree: Path, tmp_path: Path) -> None:
    (tree / "usr/binary").mkdir()
    found = entries(layer_of(tree, tmp_path / "layer.tar", keep=["/usr/bin"]))
    assert list(found) == ["usr", "usr/bin", "usr/bin/link", "usr/bin/tool", "usr/bin/twin"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes device files")
def test_what_overlayfs_marks_as_removed_is_a_whiteout(tree: Path, tmp_path: Path) -> None:
    os.mknod(tree / "etc/gone", 0o020000, os.makedev(0, 0))
    os.mknod(tree / "away", 0o020000, os.makedev(0, 0))
    os.setxattr(tree / "usr", "trusted.overlay.opaque", b"y")
    found = entries(layer_of(tree, tmp_path / "layer.tar"))
    assert {"etc/.wh.gone", ".wh.away", "usr/.wh..wh..opq"} <= set(found)
    assert "etc/gone" not in found


def test_digests_are_those_of_the_stored_bytes(tree: Path, tmp_path: Path) -> None:
    layer = layer_of(tree, tmp_path / "layer.tar")
    content = layer.file.read_bytes()
    assert layer.digest == layer.diff_id == f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert layer.size == len(content)


def test_a_compressed_layer_keeps_the_digest_of_its_tar(tree: Path, tmp_path: Path) -> None:
    plain = layer_of(tree, tmp_path / "layer.tar")
    packed = compress_layer(plain, tmp_path / "layer.tar.gz")
    assert packed.diff_id == plain.diff_id
    assert gzip.decompress(packed.file.read_bytes()) == plain.file.read_bytes()
    assert packed.media_type == "application/vnd.oci.image.layer.v1.tar+gzip"
    assert compress_layer(plain, tmp_path / "again.gz").digest == packed.digest


def test_an_archive_leads_from_its_index_to_every_blob(tree: Path, tmp_path: Path) -> None:
    image = Image(
        (layer_of(tree, tmp_path / "layer.tar"),),
        ImageConfig(("tool",), environment={"A": "b"}, user="65532:65532", working_directory="/tmp"),
    )
    found = archive(image, ["sandbox.local/tool:1", "sandbox.local/other/tool:2"])
    assert json.loads(found["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    manifests = json.loads(found["index.json"])["manifests"]
    assert [one["annotations"]["io.containerd.image.name"] for one in manifests] == [
        "sandbox.local/tool:1",
        "sandbox.local/other/tool:2",
    ]
    assert {one["digest"] for one in manifests} == {image.digest}

    def blob(digest: str) -> bytes:
        content = found[f"blobs/{digest.replace(':', '/')}"]
        assert f"sha256:{hashlib.sha256(content).hexdigest()}" == digest
        return content

    manifest = json.loads(blob(image.digest))
    config = json.loads(blob(manifest["config"]["digest"]))
    assert config["rootfs"]["diff_ids"] == [image.layers[0].diff_id]
    assert config["config"]["User"] == "65532:65532"
    assert config["config"]["Env"][0].startswith("PATH=/usr/local/sbin:")
    assert config["config"]["Env"][1:] == ["A=b"]
    (layer,) = manifest["layers"]
    assert len(blob(layer["digest"])) == layer["size"]


def test_blobs_that_the_reader_has_are_left_out(tree: Path, tmp_path: Path) -> None:
    layer = layer_of(tree, tmp_path / "layer.tar")
    found = archive(Image((layer,), ImageConfig()), ["sandbox.local/tool:1"], without={layer.digest})
    assert f"blobs/{layer.digest.replace(':', '/')}" not in found


def test_a_layer_that_is_there_twice_is_stored_once(tree: Path, tmp_path: Path) -> None:
    layer = layer_of(tree, tmp_path / "layer.tar")
    stream = io.BytesIO()
    write_archive(Image((layer, layer), ImageConfig()), ["x/y:1"], stream)
    with tarfile.open(fileobj=io.BytesIO(stream.getvalue())) as tar:
        names = tar.getnames()
    assert len(names) == len(set(names))


def test_bytecode_is_valid_for_its_source_as_it_is_in_the_layer(tree: Path, tmp_path: Path) -> None:
    source = tree / "usr/lib/module.py"
    source.parent.mkdir()
    source.write_text("VALUE = 7\n")
    compiled = source.parent / "__pycache__" / f"module.{sys.implementation.cache_tag}.pyc"
    timed = py_compile.PycInvalidationMode.TIMESTAMP
    py_compile.compile(str(source), cfile=str(compiled), invalidation_mode=timed)
    layer = layer_of(tree, tmp_path / "layer.tar")
    unpack(layer.file.read_bytes(), tmp_path / "image")
    code = "import sys; sys.path.insert(0, sys.argv[1]); import module; print(module.VALUE)"
    shown = subprocess.run(
        [sys.executable, "-v", "-c", code, str(tmp_path / "image/usr/lib")],
        env={"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=patient(60),
        check=True,
    )
    assert shown.stdout == "7\n"
    assert "code object from" in shown.stderr
    assert f"matches {tmp_path / 'image/usr/lib/module.py'}" in shown.stderr
