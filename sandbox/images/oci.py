"""A writer of OCI images: a layer from a directory, an archive from layers.

The same tree gives the same bytes, whenever and wherever it was made: entries are sorted, and all times are
`EPOCH`. The formats are those of https://github.com/opencontainers/image-spec, version 1.1.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import platform
import shutil
import stat
import tarfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

EPOCH = 1577836800
"""2020-01-01: of every file in a layer. Zip archives cannot tell of times before 1980."""
WHITEOUT = ".wh."
OPAQUE = ".wh..wh..opq"
_CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
_MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
_INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
_LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_DEFAULT_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_REF_NAME = "org.opencontainers.image.ref.name"
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Layer:
    """One blob: its file, digest (`sha256:…`) and size, and the digest of the tar that it unpacks to."""

    file: Path
    digest: str
    size: int
    diff_id: str

    @property
    def media_type(self) -> str:
        """As the manifest names it."""
        return _LAYER_TYPE if self.digest == self.diff_id else f"{_LAYER_TYPE}+gzip"


@dataclass(frozen=True)
class ImageConfig:
    """What a container of the image runs by default; a pod may say otherwise."""

    command: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    working_directory: str = "/"
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Image:
    """Layers, the lowest first, and a configuration."""

    layers: tuple[Layer, ...]
    config: ImageConfig

    def config_blob(self) -> bytes:
        """The image's configuration in its stored form."""
        environment = [f"{name}={value}" for name, value in self.config.environment.items()]
        if not any(one.startswith("PATH=") for one in environment):
            environment.insert(0, _DEFAULT_PATH)
        config: dict[str, Any] = {
            "Cmd": list(self.config.command),
            "Entrypoint": list(self.config.entrypoint),
            "Env": environment,
            "User": self.config.user,
            "WorkingDir": self.config.working_directory,
            "Labels": dict(self.config.labels),
        }
        return _encoded(
            {
                "architecture": architecture(),
                "os": "linux",
                "config": {name: value for name, value in config.items() if value},
                "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in self.layers]},
            }
        )

    def manifest_blob(self) -> bytes:
        """The image's manifest in its stored form; its digest names the image."""
        config = self.config_blob()
        return _encoded(
            {
                "schemaVersion": 2,
                "mediaType": _MANIFEST_TYPE,
                "config": _descriptor(_CONFIG_TYPE, config),
                "layers": [
                    {"mediaType": layer.media_type, "digest": layer.digest, "size": layer.size}
                    for layer in self.layers
                ],
            }
        )

    @property
    def digest(self) -> str:
        """`sha256:…` of the manifest."""
        return digest_of(self.manifest_blob())

    @property
    def size(self) -> int:
        """Bytes of all layers."""
        return sum(layer.size for layer in self.layers)


def architecture() -> str:
    """This machine's, in the names of Go that images use."""
    machine = platform.machine()
    return _ARCHITECTURES.get(machine, machine)


def digest_of(content: bytes) -> str:
    """`sha256:…`"""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _encoded(content: object) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def _descriptor(media_type: str, content: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": digest_of(content), "size": len(content)}


# -- layers ---------------------------------------------------------------------------------------------


def write_layer(
    tree: Path, file: Path, *, keep: Sequence[str] = (), owner: tuple[int, int] | None = None
) -> Layer:
    """Writes the directory as a layer into `file`.

    `keep`: absolute paths of the image, of which alone (and of the directories above) the layer consists.
    `owner`: uid and gid of everything, the tree's own by default. What overlayfs marks as removed becomes a
    whiteout. Sockets are left out. Raises OSError.
    """
    with file.open("wb") as stream:
        _write_tar(tree, stream, tuple(path.strip("/") for path in keep), owner)
    digest, size = _digest_of_file(file)
    return Layer(file, digest, size, digest)


def compress_layer(layer: Layer, file: Path) -> Layer:
    """The same layer as gzip, in `file`."""
    with (
        layer.file.open("rb") as source,
        file.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6) as target,
    ):
        shutil.copyfileobj(source, target, _CHUNK)
    digest, size = _digest_of_file(file)
    return Layer(file, digest, size, layer.diff_id)


def _digest_of_file(file: Path) -> tuple[str, int]:
    with file.open("rb") as stream:
        return f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}", file.stat().st_size


def _write_tar(tree: Path, stream: BinaryIO, keep: tuple[str, ...], owner: tuple[int, int] | None) -> None:
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path, name in _entries(tree, "", keep):
            status = path.lstat()
            if stat.S_ISSOCK(status.st_mode):
                continue
            parent, _, leaf = name.rpartition("/")
            if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
                tar.addfile(_marker(f"{parent}/{WHITEOUT}{leaf}".lstrip("/")))
                continue
            entry = tar.gettarinfo(str(path), name)
            entry.mtime = EPOCH
            entry.uname = entry.gname = ""
            if owner is not None:
                entry.uid, entry.gid = owner
            if entry.isreg() and path.suffix == ".pyc":
                tar.addfile(entry, io.BytesIO(_timeless(path.read_bytes())))
            elif entry.isreg():
                with path.open("rb") as content:
                    tar.addfile(entry, content)
            else:
                tar.addfile(entry)
            if entry.isdir() and _is_opaque(path):
                tar.addfile(_marker(f"{name}/{OPAQUE}"))


def _timeless(bytecode: bytes) -> bytes:
    """Bytecode of Python that tells the time of its source (PEP 552) tells the one of the layer."""
    if len(bytecode) < 16 or bytecode[4:8] != bytes(4):
        return bytecode
    return bytecode[:8] + EPOCH.to_bytes(4, "little") + bytecode[12:]


def _entries(directory: Path, name: str, keep: tuple[str, ...]) -> Iterator[tuple[Path, str]]:
    """Path and name in the image of everything below, each directory before what it holds."""
    for entry in sorted(os.scandir(directory), key=lambda one: one.name):
        inner = f"{name}/{entry.name}" if name else entry.name
        if keep and not _is_kept(inner, keep):
            continue
        yield Path(entry.path), inner
        if entry.is_dir(follow_symlinks=False):
            yield from _entries(Path(entry.path), inner, keep)


def _is_kept(name: str, keep: tuple[str, ...]) -> bool:
    return any(f"{name}/".startswith(f"{one}/") or f"{one}/".startswith(f"{name}/") for one in keep)


def _marker(name: str) -> tarfile.TarInfo:
    marker = tarfile.TarInfo(name)
    marker.mtime = EPOCH
    return marker


def _is_opaque(path: Path) -> bool:
    try:
        return os.getxattr(path, "trusted.overlay.opaque", follow_symlinks=False) == b"y"
    except OSError:
        return False


# -- archives -------------------------------------------------------------------------------------------


def write_archive(
    image: Image, names: Sequence[str], stream: BinaryIO, *, without: Collection[str] = ()
) -> None:
    """Writes the image as an OCI archive (an image layout in a tar) under each of these names.

    A name is whole: `registry/repository:tag`. Blobs whose digest is in `without` are left out, for a reader
    that has them.
    """
    config, manifest = image.config_blob(), image.manifest_blob()
    entry = {
        **_descriptor(_MANIFEST_TYPE, manifest),
        "platform": {"architecture": architecture(), "os": "linux"},
    }
    index = {
        "schemaVersion": 2,
        "mediaType": _INDEX_TYPE,
        "manifests": [
            {
                **entry,
                "annotations": {
                    # The first is containerd's, the second the specification's: what follows the colon.
                    "io.containerd.image.name": name,
                    _REF_NAME: name.rpartition(":")[2],
                },
            }
            for name in names
        ],
    }
    layers = {layer.digest: layer for layer in image.layers if layer.digest not in without}
    _write_layout(index, (manifest, config), tuple(layers.values()), stream)


def write_artifact(
    config: tuple[str, object], content: tuple[str, bytes], annotations: Mapping[str, str], stream: BinaryIO
) -> str:
    """Writes an artefact of one blob as an OCI archive, and returns the digest of its manifest.

    `config` and `content`: the media type of each, and what it holds.
    """
    stored = _encoded(config[1])
    manifest = _encoded(
        {
            "schemaVersion": 2,
            "mediaType": _MANIFEST_TYPE,
            "config": _descriptor(config[0], stored),
            "layers": [_descriptor(*content)],
            "annotations": dict(annotations),
        }
    )
    version = annotations["org.opencontainers.image.version"]
    named = {**_descriptor(_MANIFEST_TYPE, manifest), "annotations": {_REF_NAME: version}}
    index = {"schemaVersion": 2, "mediaType": _INDEX_TYPE, "manifests": [named]}
    _write_layout(index, (manifest, stored, content[1]), (), stream)
    return digest_of(manifest)


def _write_layout(index: object, blobs: Sequence[bytes], layers: Sequence[Layer], stream: BinaryIO) -> None:
    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        _add_blob(tar, "oci-layout", _encoded({"imageLayoutVersion": "1.0.0"}))
        _add_blob(tar, "index.json", _encoded(index))
        for blob in blobs:
            _add_blob(tar, _blob_path(digest_of(blob)), blob)
        for layer in layers:
            entry = _marker(_blob_path(layer.digest))
            entry.size = layer.size
            with layer.file.open("rb") as content:
                tar.addfile(entry, content)


def _blob_path(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"


def _add_blob(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = _marker(name)
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))
