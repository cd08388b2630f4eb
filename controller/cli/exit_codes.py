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
    """What an exit code of osctl means. The numbers never change their meaning."""

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
    ExitCode.OK: "done; the region is Ready; there is no difference",
    ExitCode.DIFFERENT: "diff, plan: there are differences, something to do",
    ExitCode.USAGE: "the command line is wrong",
    ExitCode.INVALID: "a file is wrong; every mistake was printed; validate --strict: a warning was",
    ExitCode.NOT_READY: "not Ready when the time was up",
    ExitCode.NEEDS_EDIT: "will not become Ready before a person acts; diff: some would be refused",
    ExitCode.REFUSED: "the cluster refused: not allowed, not found, in conflict",
    ExitCode.UNREACHABLE: "the cluster does not answer, or there is no kubeconfig",
    ExitCode.FAILED: "a chart or Helm failed, or an installation file is broken",
    ExitCode.SMOKE_FAILED: "smoke: a step failed, or something could not be removed",
    ExitCode.INTERRUPTED: "interrupted (Ctrl-C); the cluster goes on",
}


class NoCluster(KubeError):
    """There is no kubeconfig to reach a cluster with."""


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
