"""The exit codes of osctl, which scripts may rely on."""

from __future__ import annotations

from enum import IntEnum

from controller.errors import (
    ApiUnavailable,
    BackupUnusable,
    ChartInvalid,
    CloudRefused,
    CloudUnavailable,
    ControllerError,
    HelmFailed,
    KubeError,
    SpecInvalid,
)


class ExitCode(IntEnum):
    """An exit code of osctl. The numbers never change their meaning."""

    OK = 0
    DIFFERENT = 1
    USAGE = 2
    INVALID = 3
    NOT_READY = 4
    NEEDS_EDIT = 5
    REFUSED = 6
    UNREACHABLE = 7
    FAILED = 8
    SMOKE_FAILED = 9
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.OK: "success: done, the region is Ready, or there is no difference",
    ExitCode.DIFFERENT: "diff, plan: there are differences, or something to do",
    ExitCode.USAGE: "wrong command line",
    ExitCode.INVALID: "invalid file; every mistake was printed; validate --strict: a warning was",
    ExitCode.NOT_READY: "not Ready within the timeout; gather: not complete within time or size",
    ExitCode.NEEDS_EDIT: "not Ready before a person acts; preflight: something lacks; diff: some are refused",
    ExitCode.REFUSED: "refused by the cluster: forbidden, not found, or in conflict",
    ExitCode.UNREACHABLE: "the cluster does not answer, or there is no kubeconfig",
    ExitCode.FAILED: "a chart or Helm failed, or an installation file is broken",
    ExitCode.SMOKE_FAILED: "smoke: a step failed, or an object could not be removed",
    ExitCode.INTERRUPTED: "interrupted (Ctrl-C); the controller continues",
}


class NoCluster(KubeError):
    """There is no kubeconfig for a cluster."""


def exit_code(error: ControllerError) -> ExitCode:
    """The code that a command ends with when this error ends it."""
    match error:
        case SpecInvalid() | BackupUnusable():
            return ExitCode.INVALID
        case ApiUnavailable() | NoCluster():
            return ExitCode.UNREACHABLE
        case KubeError():
            return ExitCode.REFUSED
        case CloudUnavailable() | CloudRefused():
            return ExitCode.SMOKE_FAILED
        case ChartInvalid() | HelmFailed():
            return ExitCode.FAILED
        case _:
            return ExitCode.FAILED


def epilog() -> str:
    """The codes as the help text lists them."""
    lines = [f"{code.value:>3}  {meaning}" for code, meaning in MEANINGS.items()]
    return "Exit codes:\n\n\b\n" + "\n".join(lines)
