"""Loads Helm's library under Helm's own name, and holds the one use of its private interface.

Helm's library takes the field manager of server-side apply from the base name of `argv[0]`
(helm.sh/helm/v4/pkg/kube, getManagedFieldsManager): `python`, `python3.11` or whatever started the
process. Ownership of fields would then change with the way of starting, a field that a chart drops
would survive under the former name, and the helm command line could not work on our releases. So
`argv[0]` is `helm` for the moment in which Go's runtime reads it: when the library is loaded.

Import this module before anything else imports `helm_python`.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from controller.domain.api.names import HELM_FIELD_MANAGER

# Go keeps pointers to the arguments it was started with: this memory must live as long as the process.
_NAME = ctypes.create_string_buffer(HELM_FIELD_MANAGER.encode())

# Fields of /proc/self/stat after the command's closing bracket, proc(5): (28) startstack is the
# address of argc, which argv follows; (48) arg_start is the address of the text of argv[0].
_STARTSTACK, _ARG_START = 28 - 3, 48 - 3


@contextmanager
def _started_as_helm() -> Iterator[bool]:
    """Within it, argv[0] of this process reads `helm`; yields False where that cannot be had.

    Only the pointer is exchanged, so that `ps` shows the true command line all the time.
    """
    slot = _argv0()
    if slot is None:
        yield False
        return
    original = slot.value
    slot.value = ctypes.addressof(_NAME)
    try:
        yield True
    finally:
        slot.value = original


def _argv0() -> ctypes.c_void_p | None:
    try:
        fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        stack, text = int(fields[_STARTSTACK]), int(fields[_ARG_START])
    except (OSError, ValueError, IndexError):
        return None
    if not stack or not text:
        return None  # hidden from us by the kernel's settings
    slot = ctypes.c_void_p.from_address(stack + ctypes.sizeof(ctypes.c_void_p))
    # The kernel says the same thing twice; where the two differ this is not the layout we know.
    return slot if slot.value == text else None


def _load() -> str:
    if "helm_python" in sys.modules:
        return Path(sys.orig_argv[0]).name
    with _started_as_helm() as renamed:
        import helm_python  # noqa: F401 - its import loads the library and waits for Go's start
    return HELM_FIELD_MANAGER if renamed else Path(sys.orig_argv[0]).name


#: Field manager under which this process's Helm applies objects.
FIELD_MANAGER = _load()

from helm_python import Config, _native  # noqa: E402 - only after the library is loaded as helm


def call(
    function: str,
    config: Config,
    release: str,
    options: Mapping[str, Any],
    *,
    chart: str | None = None,
    values: str | None = None,
) -> dict[str, Any]:
    """One action of Helm with all options of the C layer, which refuses those it does not know.

    The typed methods of `Config` lack `force_conflicts`, `replace` and others.
    `function` is `helm_install`, `helm_upgrade` (both with `chart` and `values` as JSON text),
    `helm_uninstall` or `helm_rollback`. Gives the answer's JSON, empty where there is none. Raises
    `helm_python.HelmError`.
    """
    arguments: list[object] = [config._raw()]
    if chart is not None:
        no_handle = _native.HANDLE(0)  # neither a cancellation handle nor a loaded chart
        arguments += [no_handle, no_handle, chart]
    arguments.append(release)
    if chart is not None:
        arguments.append(values)
    arguments.append(json.dumps(options))
    if function == "helm_rollback":
        _native.call_status(function, *arguments)
        return {}
    answer: dict[str, Any] = json.loads(_native.call_string(function, *arguments) or "{}")
    return answer
