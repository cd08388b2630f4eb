"""The validation rules of our resource definitions, evaluated without a server.

A test asks a real API server whether both agree.
"""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any

from controller.domain.shared.cel import CelError, expression

# What follows `self` in a rule: a field of it, or anything else.
_SELF = re.compile(r"\bself\b(?:\.([A-Za-z_]\w*)(?!\w*\())?")


def is_transition(rule: str) -> bool:
    """Whether the rule compares with the object before the change, which only a server knows."""
    return "oldSelf" in rule


def holds(rule: str, value: Any) -> bool:
    """Whether the value that a rule is put on keeps it. As on a server, a rule without a value is broken."""
    try:
        return expression(rule).value({"self": _seen(rule, value)}, FUNCTIONS) is True
    except CelError:
        return False


def _seen(rule: str, value: Any) -> Any:
    """What the rule sees of the value: the fields that it names, which are few of a large object."""
    fields = _fields(rule)
    if not fields or not isinstance(value, Mapping):
        return value
    return {escaped: value[name] for escaped, name in fields.items() if name in value}


@functools.cache
def _fields(rule: str) -> Mapping[str, str]:
    """The fields of `self` that a rule names, as it escapes those with names of CEL's own; empty where it
    looks at `self` itself."""
    found = {match.group(1) for match in _SELF.finditer(rule)}
    if None in found:
        return {}
    return {field: re.sub(r"\A__(\w+)__\Z", r"\1", field) for field in sorted(found)}


def is_ip(value: str) -> bool:
    """An IPv4 or IPv6 address as CEL's isIP() sees it: no zone, no IPv4 within IPv6."""
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return False
    return "%" not in value and not (address.version == 6 and "." in value)


def is_network(value: str) -> bool:
    """A network as CEL's isCIDR() sees it: host bits may be set, the length is plain digits."""
    address, slash, length = value.partition("/")
    plain = length.isascii() and length.isdigit() and (length == "0" or not length.startswith("0"))
    return bool(slash) and plain and is_ip(address) and int(length) <= (32 if "." in address else 128)


# Functions that Kubernetes adds to CEL.
FUNCTIONS: Mapping[str, Callable[..., Any]] = {"isIP": is_ip, "isCIDR": is_network}
