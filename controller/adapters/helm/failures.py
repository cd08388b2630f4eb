"""Finds the meaning of a Helm failure in its text: the same for the library and the command line.

Helm has one error type for most things. The marks below are stable phrases of Helm 4 and its template engine;
a text that matches none of them is a failed action. Facts that the release's history contains are never taken
from a text.
"""

from __future__ import annotations

import re

from controller.adapters.helm.denials import missing_right
from controller.domain.validation.missing_kinds import missing_kinds_text
from controller.errors import (
    ApiUnavailable,
    ChartInvalid,
    ControllerError,
    HelmFailed,
    KindMissing,
    ObjectsTaken,
    ReleaseMissing,
    RightMissing,
)

LONGEST_MESSAGE = 8192

_UNREACHABLE = re.compile(
    r"kubernetes cluster unreachable|connection refused|connection reset by peer|TLS handshake timeout"
    r"|the server is currently unable to handle the request|etcdserver: (?:request timed out|no leader)",
    re.IGNORECASE,
)
# Also possible for one request of many, in the middle of an action.
_INTERRUPTED = re.compile(
    rf"{_UNREACHABLE.pattern}|: (?:unexpected )?EOF\b|i/o timeout|http2: "
    r"|Internal error occurred|too many requests|unable to return a response in the time allotted"
    r"|has prevented the request from succeeding",
    re.IGNORECASE,
)
_MISSING = re.compile(r"release: not found|has no deployed releases|release has no \d+ version")
# Helm checks the owner of an object before it writes anything (action/validate.go, existingResourceConflict).
_TAKEN = re.compile(r"exists and cannot be imported into the current release: invalid ownership metadata")
# Kinds are looked up before anything of a manifest is sent (k8s.io/apimachinery: meta.NoKindMatchError).
_UNDEFINED = re.compile(r'no matches for kind "([^"]+)" in version "([^"]+)"')
# A hook's own output may contain anything, also text like one of the marks below.
_HOOK = re.compile(
    r"failed (?:pre|post)-install: |(?:pre|post)-(?:upgrade|rollback|delete) hooks? failed"
    r"|Hook \S+ \S+ failed: "
)
# None of these reaches the API server: rendering comes before the revision is recorded.
_CHART = re.compile(
    r"Chart\.yaml file is missing|cannot load Chart\.yaml|cannot load values\.yaml|no such file or directory"
    r"|chart metadata|chart dependencies are missing|missing in charts/ directory|validation: chart"
    r"|path .* not found|not a local path|does not appear to be a gzipped archive|empty chart"
    r"|execution error at \(|parse error at \(|template: |error calling |YAML parse error on"
    r"|executing \"[^\"]*\" at <|exceeded maximum template depth"
    r"|values don't meet the specifications of the schema|failed to parse .*/templates/",
    re.IGNORECASE,
)


def failure(text: str, chart: str = "") -> ControllerError:
    """The error that Helm's `text` means; `chart` is the path of the chart acted on, if there is one."""
    cause = text.strip().removeprefix("Error: ")[:LONGEST_MESSAGE] or "Helm failed and did not say why"
    interrupted = _INTERRUPTED.search(cause) is not None
    if denied := missing_right(cause):
        return RightMissing(denied)
    undefined = [(version, kind) for kind, version in _UNDEFINED.findall(cause)]
    if undefined and not _HOOK.search(cause):
        return KindMissing(missing_kinds_text(undefined))
    if _HOOK.search(cause):
        return HelmFailed(cause, interrupted=interrupted)
    if _UNREACHABLE.search(cause):
        return ApiUnavailable(f"Helm: {cause}")
    if _TAKEN.search(cause):
        return ObjectsTaken(cause)
    if _MISSING.search(cause):
        return ReleaseMissing(cause)
    if chart and _CHART.search(cause):
        return ChartInvalid(f"chart {chart}: {cause}")
    return HelmFailed(cause, interrupted=interrupted)
