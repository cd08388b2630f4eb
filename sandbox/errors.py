"""Errors of the sandbox, named by what a person can do about them."""

from __future__ import annotations


class SandboxError(Exception):
    """Root of the sandbox's errors; the text names the cause and a remedy, and is shown as it is."""


class BuildFailed(SandboxError):
    """The control plane's binaries could not be built: the cause as the Go toolchain tells it."""


class NotBuilt(SandboxError):
    """Programs are missing, and this process was asked to build none."""


class DiskFull(SandboxError):
    """There is not room enough; the message tells how much is needed, and where."""


class PortTaken(SandboxError):
    """A component could not listen, because another process took its port in the meantime."""


class ComponentFailed(SandboxError):
    """A component of the control plane ended, or did not become healthy before its deadline."""
