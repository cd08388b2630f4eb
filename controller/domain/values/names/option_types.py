"""What oslo.config reads of the text of an option, by the kind that is recorded of the option.

A kind is one word: `bool`, `int(0..9)`, `float(..)`, `one(a|b)`, `any(a|b)` (in any case), `number(1|2)`,
`text(255)`, `like(<pattern>)`, `quoted`, `ip`, `ip4`, `ip6`, `name`, `host`, `domain`, `uri(9;http)`,
`range(0..9)`, `ports`, `octal`, `uuid`, `path` (absolute), `pool(0..4)` (a name with addresses),
`step(8..24..8)` (numbers that are so far apart); `list:<kind>`, `brackets:<kind>` (a list in brackets),
`map(:):<kind>`, `braces(:):<kind>`, whose kind is left out where it may be any text; and `multi`,
`multi:<kind>` for one of several lines.
What stands in parentheses is quoted as in a URL. What services read themselves has kinds of
`service_formats`.
"""

from __future__ import annotations

import ipaddress
import posixpath
import re
import uuid
from collections.abc import Callable, Mapping
from functools import lru_cache
from urllib.parse import unquote

from controller.domain.values.names.service_formats import FORMATS

# oslo.config, types.Boolean.
_BOOLEANS = frozenset(("true", "1", "on", "yes", "false", "0", "off", "no"))
_KIND = re.compile(r"([a-z0-9]+)(?:\(([^()]*)\))?(?::(.+))?")
_LABEL = re.compile(r"(?!-)[A-Z0-9-]{1,63}(?<!-)$", re.IGNORECASE)
_DOMAIN_LABEL = re.compile(r"(?!-)[A-Z0-9-_]{1,63}(?<!-)$", re.IGNORECASE)
_NUMBER = "0|-?[1-9][0-9]*"
_RANGE = re.compile(rf"({_NUMBER})(?:-({_NUMBER}))?$")
_URI = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]*)://(?:[^/?#@]*@)?(\[[^\]]+\]|[^/?#:\[\]\s]+)(?::[0-9]*)?([/?#].*)?$"
)
_PATH = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*")
SEVERAL = "multi"


@lru_cache(maxsize=4096)
def parts_of(kind: str) -> tuple[str, str, str]:
    """Name, what stands in parentheses, and the kind within."""
    found = _KIND.fullmatch(kind)
    return (found[1], found[2] or "", found[3] or "") if found else ("", "", "")


def unmet(kind: str, text: str) -> str:
    """What an option of this kind has to be, where the text is not; empty where oslo.config reads it."""
    name, about, within = parts_of(kind)
    if name in FORMATS:
        return FORMATS[name](text)
    reader = _READERS.get(name)
    return reader(about, within, text) if reader else ""


def is_certain(kind: str) -> bool:
    """Whether no other version of the packages reads what this kind does not: words may be added."""
    name, _, within = parts_of(kind)
    return name not in ("one", "any", "number", "like") and (not within or is_certain(within))


def _bool(about: str, within: str, text: str) -> str:
    return "" if text.strip().lower() in _BOOLEANS else "true or false"


def _int(about: str, within: str, text: str) -> str:
    return _of_number(int, about, text)


def _float(about: str, within: str, text: str) -> str:
    return _of_number(float, about, text)


def _of_number(make: Callable[[str], float], bounds: str, text: str) -> str:
    least, most = bounds.split("..")
    what = "a whole number" if make is int else "a number"
    if least and most:
        what += f" from {least} to {most}"
    elif least or most:
        what += f" of at least {least}" if least else f" of at most {most}"
    if not text.strip():
        return ""  # as if it were not there
    try:
        number = make(text)
    except ValueError:
        return what
    inside = (not least or number >= float(least)) and (not most or number <= float(most))
    return "" if inside else what


def words_of(about: str) -> list[str]:
    """The words that an option takes."""
    return [unquote(word) for word in about.split("|")]


def _one(about: str, within: str, text: str) -> str:
    return "" if text in words_of(about) else "one of a few words"


def _any(about: str, within: str, text: str) -> str:
    return "" if text.lower() in map(str.lower, words_of(about)) else "one of a few words"


def _one_number(about: str, within: str, text: str) -> str:
    return "" if text.strip() in ("", *words_of(about)) else "one of a few numbers"


def _text(about: str, within: str, text: str) -> str:
    return "" if len(text) <= int(about) else f"a text of at most {about} characters"


def _like(about: str, within: str, text: str) -> str:
    pattern = unquote(about)
    return "" if re.search(pattern, text) else f"a text like {pattern}"


def _quoted(about: str, within: str, text: str) -> str:
    begins = text[:1]
    closed = begins not in ("'", '"') or (len(text) > 1 and text[-1] == begins)
    return "" if not begins or closed else "a text whose quotes are closed"


def _is_address(text: str, *versions: int) -> bool:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return False
    return found.version in versions and "%" not in text


def _ip(about: str, within: str, text: str) -> str:
    return "" if _is_address(text, 4, 6) else "an IPv4 or IPv6 address, without a mask or a port"


def _ip4(about: str, within: str, text: str) -> str:
    return "" if _is_address(text, 4) else "an IPv4 address, without a mask or a port"


def _ip6(about: str, within: str, text: str) -> str:
    return "" if _is_address(text, 6) else "an IPv6 address, without a mask or a port"


def _is_name(text: str, label: re.Pattern[str]) -> bool:
    labels = text.removesuffix(".").split(".")
    some_letter = re.search("[a-zA-Z-]", labels[-1])
    return bool(0 < len(text) <= 253 and some_letter and all(map(label.match, labels)))


def _name(about: str, within: str, text: str) -> str:
    return "" if _is_name(text, _LABEL) else "a host name"


def _host(about: str, within: str, text: str) -> str:
    good = _is_address(text, 4, 6) or _is_name(text, _LABEL)
    return "" if good else "a host name or an address, without a mask or a port"


def _domain(about: str, within: str, text: str) -> str:
    good = _is_address(text, 4, 6) or _is_name(text, _DOMAIN_LABEL)
    return "" if good else "a host name or an address, without a mask or a port"


def _uri(about: str, within: str, text: str) -> str:
    most, _, schemes = about.partition(";")
    found = _URI.fullmatch(text)
    path = re.split("[?#]", found[3] or "")[0] if found else ""
    good = found and _PATH.fullmatch(path) and (not most or len(text) <= int(most))
    known = words_of(schemes) if schemes else []
    if good and found and (not known or found[1].lower() in known):
        return ""
    return f"a URL with a host{f' and scheme {chr(32).join(known)}' if known else ''}"


def _range(about: str, within: str, text: str) -> str:
    found = _RANGE.match(text)
    if not found:
        return "a range of whole numbers, as 10-20"
    ends = sorted((int(found[1]), int(found[2] or found[1])))
    least, most = about.split("..")
    good = (not least or ends[0] >= int(least)) and (not most or ends[1] <= int(most))
    return "" if good else f"a range of whole numbers from {least} to {most}"


def _ports(about: str, within: str, text: str) -> str:
    """Ironic's PortRange."""
    wanted = "two ports, as 10000:20000, the smaller one first"
    try:
        first, last = map(int, text.split(":"))
    except ValueError:
        return wanted
    return "" if 0 <= first <= last <= 65535 else wanted


def _octal(about: str, within: str, text: str) -> str:
    try:
        int(text, 8)
    except ValueError:
        return "an octal number, as 0600"
    return ""


def _uuid(about: str, within: str, text: str) -> str:
    try:
        uuid.UUID(text)
    except ValueError:
        return "a UUID"
    return ""


def _step(about: str, within: str, text: str) -> str:
    """Neutron's prefixes of zones of addresses, whole labels of a name each."""
    least, most, step = map(int, about.split(".."))
    wanted = f"a number from {least} to {most}, in steps of {step}"
    return "" if not text.strip() or text.strip() in map(str, range(least, most + 1, step)) else wanted


def _path(about: str, within: str, text: str) -> str:
    """Ironic's ExplicitAbsolutePath."""
    bare = text.rstrip("/") if len(text) > 1 else text
    return "" if bare.startswith("/") and posixpath.normpath(bare) == bare else "an absolute path without .."


def _pool(about: str, within: str, text: str) -> str:
    """Manila's file provisioning group of HPE 3PAR."""
    name, *addresses = (part.strip() for part in text.split(","))
    least, most = map(int, about.split(".."))
    good = name and least <= len(addresses) <= most and not any(_ip("", "", one) for one in addresses)
    return "" if good else f"a name and {least} to {most} addresses, as pool,192.0.2.1"


def _list(about: str, within: str, text: str) -> str:
    return _items(within, text.strip().rstrip(","))


def _brackets(about: str, within: str, text: str) -> str:
    bare = text.strip().rstrip(",")
    if not (bare.startswith("[") and bare.endswith("]")):
        return "a list in brackets, as [a,b]"
    return _items(within, bare[1:-1])


def _items(kind: str, text: str) -> str:
    """What each item has to be, where one is not. An item may have commas: then parts make it up."""
    parts, wrong = text.split(",") if text and kind else [], ""
    while parts:
        item = parts.pop(0)
        while wrong := unmet(kind, item.strip()):
            if not parts:
                return f"a list, each item of it {wrong}"
            item += f",{parts.pop(0)}"
    return ""


def _map(about: str, within: str, text: str) -> str:
    return _pairs(unquote(about), within, text.strip())


def _braces(about: str, within: str, text: str) -> str:
    bare = text.strip()
    if not (bare.startswith("{") and bare.endswith("}")):
        between = unquote(about)
        return f"pairs in braces, as {{a{between}1,b{between}2}}"
    return _pairs(unquote(about), within, bare[1:-1])


def _pairs(between: str, kind: str, text: str) -> str:
    wanted = f"pairs of a name and a value, as a{between}1,b{between}2"
    parts, names = text.split(",") if text else [], set()
    while parts:
        pair = parts.pop(0)
        while True:
            name, there, value = pair.partition(between)
            wrong = (unmet(kind, value.strip()) if kind else "") if there else wanted
            if not wrong:
                break
            if not parts:
                return wrong if wrong == wanted else f"{wanted}, each value {wrong}"
            pair += f",{parts.pop(0)}"
        if not name.strip():
            return f"{wanted}, none without a name"
        if name.strip() in names:
            return f"{wanted}, each name once"
        names.add(name.strip())
    return ""


_READERS: Mapping[str, Callable[[str, str, str], str]] = {
    "bool": _bool,
    "int": _int,
    "float": _float,
    "one": _one,
    "any": _any,
    "number": _one_number,
    "text": _text,
    "like": _like,
    "quoted": _quoted,
    "ip": _ip,
    "ip4": _ip4,
    "ip6": _ip6,
    "name": _name,
    "host": _host,
    "domain": _domain,
    "uri": _uri,
    "range": _range,
    "ports": _ports,
    "octal": _octal,
    "uuid": _uuid,
    "step": _step,
    "path": _path,
    "pool": _pool,
    "list": _list,
    "brackets": _brackets,
    "map": _map,
    "braces": _braces,
}
