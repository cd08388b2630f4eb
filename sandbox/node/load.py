"""Images into the containerd of nodes: each once, and of its blobs only those that are not there."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from sandbox import processes
from sandbox.errors import SandboxError
from sandbox.images.oci import Image, write_archive
from sandbox.node.hosts import RealNode
from sandbox.node.plan import SOCKET, NodeLayout
from sandbox.node.programs import CONTAINERS
from sandbox.paths import Layout

NAMESPACE = "k8s.io"
LIST_SECONDS = 60.0
LOAD_SECONDS = 900.0


class ImageStore:
    """The containerd of a node. `ctr`: its command; `init`: the pid of the node's first process."""

    def __init__(self, ctr: Path, init: int) -> None:
        self._command = [str(ctr), f"--address=/proc/{init}/root{SOCKET}", f"--namespace={NAMESPACE}"]

    def digests(self) -> Mapping[str, str]:
        """The digest of each image that is there, by its whole name. Raises SandboxError."""
        return parse_images(self._output("images", "list"))

    def load(self, image: Image, names: Sequence[str]) -> bool:
        """Puts the image in under these names; False where all of them named it already.

        Raises SandboxError.
        """
        present = self.digests()
        missing = [name for name in names if present.get(name) != image.digest]
        if not missing:
            return False
        blobs = set(self._output("content", "list", "--quiet").split())
        command = [*self._command, "images", "import", "-"]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as process:
            assert process.stdin is not None  # noqa: S101  (asked for above)
            writer = threading.Thread(target=_write, args=(image, missing, process.stdin, blobs))
            writer.start()
            try:
                output = _finish(process, writer)
            except BaseException:
                process.kill()
                raise
        if process.returncode != 0:
            raise SandboxError(f"containerd does not take {missing[0]}: {output[-1500:].strip()}")
        return True

    def _output(self, *arguments: str) -> str:
        try:
            answer = subprocess.run(
                [*self._command, *arguments],
                capture_output=True,
                text=True,
                timeout=LIST_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise SandboxError(f"containerd did not answer within {LIST_SECONDS:.0f} s") from None
        if answer.returncode != 0:
            raise SandboxError(f"ctr {' '.join(arguments)}: {answer.stderr.strip()}")
        return answer.stdout


class NodeImages:
    """The images of all nodes of a sandbox."""

    def __init__(self, stores: Sequence[ImageStore]) -> None:
        self._stores = stores

    def load(self, image: Image, names: Sequence[str]) -> bool:
        """Puts the image into every node under these names; False where all had it already.

        Raises SandboxError.
        """
        loaded = [store.load(image, names) for store in self._stores]
        return any(loaded)


def open_images(layout: Layout, nodes: Sequence[RealNode]) -> NodeImages:
    """The images of these nodes of a sandbox. Raises SandboxError where one does not run, or none is."""
    if not nodes:
        raise SandboxError(f"the sandbox in {layout.directory} has no real node")
    return NodeImages([_open_store(layout, node) for node in nodes])


def _open_store(layout: Layout, node: RealNode) -> ImageStore:
    identity = processes.read_pid_file(NodeLayout(layout.node_of(node.component)).identity)
    if identity is None or not processes.is_running(identity):
        raise SandboxError(f"the real node {node.name} of the sandbox in {layout.directory} does not run")
    return ImageStore(CONTAINERS.cache_directory() / "bin" / "ctr", identity.pid)


def _write(image: Image, names: Sequence[str], stream: BinaryIO, blobs: set[str]) -> None:
    # A reader that ended early tells why itself.
    try:
        with stream:
            write_archive(image, names, stream, without=blobs)
    except BrokenPipeError:
        return


def _finish(process: subprocess.Popen[bytes], writer: threading.Thread) -> str:
    assert process.stdout is not None  # noqa: S101
    output = process.stdout.read().decode(errors="replace")
    process.wait(LOAD_SECONDS)
    writer.join(LOAD_SECONDS)
    return output


def parse_images(listed: str) -> dict[str, str]:
    """Names and digests in the output of `ctr images list`."""
    rows = [line.split() for line in listed.splitlines()[1:]]
    return {row[0]: row[2] for row in rows if len(row) > 2}
