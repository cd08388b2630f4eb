"""An answer of an OpenStack service, read whole within a time."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from urllib3.exceptions import HTTPError

from controller.errors import CloudUnavailable

Made = TypeVar("Made")

_PART = 1 << 16
# The longest pause of a service in seconds, whatever it requests.
LONGEST_PAUSE = 300.0


@dataclass(frozen=True)
class CloudAnswer:
    """Status, headers and body of an answer."""

    code: int
    headers: Mapping[str, str]
    content: bytes


def read_answer(response: Any, what: str, *, deadline: float, monotonic: Callable[[], float]) -> CloudAnswer:
    """Reads the body of the answer.

    Raises CloudUnavailable if it does not arrive in time. A library's timeout applies to each part, so a slow
    answer could last without end.
    """
    raw, parts = response.raw, []
    try:
        # Reads the available bytes, because a fixed number would block.
        while part := raw.read1(_PART, decode_content=True):
            parts.append(part)
            if monotonic() > deadline:
                raise CloudUnavailable(f"{what}: the answer does not come to an end")
    except (HTTPError, OSError, ValueError) as error:
        raise CloudUnavailable(f"{what}: {type(error).__name__}") from None
    finally:
        response.close()
    return CloudAnswer(int(response.status_code), response.headers, b"".join(parts))


def retry_after(text: str | None, now: float) -> float | None:
    """Seconds to wait, from a Retry-After: seconds, or a time (RFC 9110, 10.2.3). None for none."""
    if not text:
        return None
    try:
        asked = float(text)
    except ValueError:
        try:
            asked = parsedate_to_datetime(text).timestamp() - now
        except ValueError:
            return None
    return min(max(asked, 0.0), LONGEST_PAUSE) if math.isfinite(asked) else None


def reports_absent(service: str, content: bytes) -> bool:
    """Whether a 404 is the service's own answer that the object does not exist.

    An ingress without a backend, a proxy and an unknown path also answer 404, which proves nothing. Shapes:
    `Fault` in nova/api/openstack/wsgi.py and cinder/api/openstack/wsgi.py, `json_error_formatter` in
    placement/util.py, pecan_wsgi/hooks/translation.py in Neutron, keystone/server/flask/application.py.
    """
    try:
        body = json.loads(content)
    except ValueError:
        return False
    if not isinstance(body, dict):
        return False
    if service == "placement":
        listed = body.get("errors")
        return isinstance(listed, list) and any(
            isinstance(one, dict) and one.get("status") == 404 for one in listed
        )
    if service == "network":
        fault = body.get("NeutronError")
        # That type means a path that Neutron does not serve.
        return isinstance(fault, dict) and fault.get("type") not in (None, "", "HTTPNotFound")
    if service == "identity":
        fault = body.get("error")
        return isinstance(fault, dict) and fault.get("code") == 404
    if service in ("compute", "block_storage"):
        fault = body.get("itemNotFound")
        return isinstance(fault, dict) and fault.get("code") == 404
    return False


def fault_of(content: bytes) -> str:
    """The sentence in an error answer, in the shape of any service."""
    try:
        body = json.loads(content)
    except ValueError:
        return ""
    for value in [body, *(body.values() if isinstance(body, dict) else ())]:
        if isinstance(value, dict) and isinstance(value.get("message"), str):
            return str(value["message"])[:500]
        if isinstance(value, dict) and isinstance(value.get("detail"), str):
            return str(value["detail"])[:500]
    return ""


def items_of(answer: Any, name: str, path: str) -> list[dict[str, Any]]:
    """The list called `name` in an answer. Raises CloudUnavailable where there is none."""
    if not isinstance(answer, dict) or not isinstance(answer.get(name), list):
        raise CloudUnavailable(f"{path}: the answer holds no {name}")
    found: list[dict[str, Any]] = answer[name]
    if not all(isinstance(one, dict) for one in found):
        raise CloudUnavailable(f"{path}: an entry of the answer cannot be read")
    return found


def read_each(
    listed: Iterable[Mapping[str, Any]], read: Callable[[Mapping[str, Any]], Made], path: str
) -> tuple[Made, ...]:
    """The result of `read` for each entry. Raises CloudUnavailable if an entry is malformed."""
    try:
        return tuple(read(one) for one in listed)
    except KeyError as error:
        raise CloudUnavailable(f"{path}: an entry of the answer has no {error}") from None
    except (AttributeError, TypeError, ValueError):
        raise CloudUnavailable(f"{path}: an entry of the answer cannot be read") from None
