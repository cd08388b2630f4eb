"""Which values charts write into files of options, and how secrets and numbers are written there.

In a file of oslo.config `$name` stands for the value of another option, and `$$` for a dollar sign
(oslo.config, "Option Value Interpolation"). A chart writes what it is given, so a secret with a `$` would
become another one, or an option that cannot be read.

Helm reads every number of given values as a float (encoding/json), which Go prints with an exponent from
1000000 on: OpenStack-Helm's templates would write `expiration = 2.592e+06`, which is no whole number to
oslo.config.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.values.chart_values import DocumentPath, Values

# Keys below `conf` with a file of sections and options, `conf.<file>.<section>.<option>`.
OSLO_FILES = frozenset(
    (
        *("aodh", "barbican", "ceilometer", "cinder", "designate", "glance", "gnocchi", "heat", "ironic"),
        *("keystone", "magnum", "manila", "masakari", "masakarimonitors", "neutron", "nova", "nova_ironic"),
        *("octavia", "placement"),
        *("bgp_dragent", "dhcp_agent", "l3_agent", "metadata_agent", "metering_agent", "neutron_vpnaas"),
        *("ovn_agent", "ovn_metadata_agent", "ovn_vpn_agent"),
        "backends",  # a section of cinder for each store
    )
)
# Keys with a map of such files: those of Neutron's plug-ins, and Keystone's domains, whose options its API
# takes and oslo.config reads like those of a file.
OSLO_DIRECTORIES = frozenset(("plugins", "ks_domains"))
# Keys with files of other programs, which charts write without a look at types, too; first those of sections.
_SECTIONED_FILES = frozenset(
    (
        *("api_audit_map", "audit_map", "bagpipe_bgp", "ceph", "l2gateway_agent", "logging", "mysql"),
        *("ovn_bgp_agent", "paste", "taas_plugin"),
    )
)
_FLAT_FILES = frozenset(
    ("libvirt", "memcached", "qemu", "rabbitmq", "rabbit_additonal_conf", "rabbit_advanced_config")
)
_UWSGI = "_uwsgi"
_BOOTSTRAP = "bootstrap"
# The least number that Go's verb %v prints with an exponent, as a float.
EXPONENT_FROM = 1_000_000
_MEMCACHE_KEY = ("endpoints", "oslo_cache", "auth", "memcache_secret_key")


def in_oslo_file(path: DocumentPath) -> bool:
    """Whether charts write the value at this path into such a file. Values for labelled nodes have a `conf`
    of their own, further in."""
    below = _below_conf(path)
    file = below[0] if below else ""
    # File, section and option, some below a directory.
    return len(below) >= 4 if file in OSLO_DIRECTORIES else len(below) >= 3 and file in OSLO_FILES


def option_of(path: DocumentPath) -> tuple[str, str, str] | None:
    """File, section and name of the option at the path or above it; None where it is no option."""
    below = _below_conf(path)
    if not in_oslo_file(path):
        return None
    directory = below[0] in OSLO_DIRECTORIES
    file, section, name = map(str, below[1:4] if directory else below[:3])
    return ("keystone" if below[0] == "ks_domains" else file), section, name


def confs(values: Values) -> Iterator[tuple[DocumentPath, Mapping[str, Any]]]:
    """The maps `conf` of values, those of labelled nodes too, each with its path."""
    conf = values.get("conf")
    if isinstance(conf, dict):
        yield ("conf",), conf
        yield from _confs_of_nodes(conf.get("overrides"), ("conf", "overrides"))
    yield from _confs_of_nodes(values.get("overrides"), ("overrides",))


def _confs_of_nodes(overrides: Any, path: DocumentPath) -> Iterator[tuple[DocumentPath, Mapping[str, Any]]]:
    for daemonset, about in overrides.items() if isinstance(overrides, dict) else ():
        for kind, found in about.items() if isinstance(about, dict) else ():
            labels = found.items() if isinstance(found, dict) else enumerate(found or ())
            for label, body in labels:
                place: DocumentPath = (*path, daemonset, kind, label)
                if not isinstance(body, dict):
                    continue
                inner = body.get("values") if isinstance(body.get("values"), dict) else body
                place = (*place, "values") if inner is not body else place
                if isinstance(inner, dict) and isinstance(inner.get("conf"), dict):
                    yield (*place, "conf"), inner["conf"]


def _below_conf(path: DocumentPath) -> DocumentPath:
    return path[len(path) - path[::-1].index("conf") :] if "conf" in path else ()


def _is_printed(path: DocumentPath) -> bool:
    """Whether charts print the value at this path into a file. Keystone's domains are written as JSON."""
    below = _below_conf(path)
    file = str(below[0]) if below else ""
    if file == "ks_domains" or len(below) < 2:
        return False
    sectioned = file in _SECTIONED_FILES or file.endswith(_UWSGI)
    return file in _FLAT_FILES or (sectioned and len(below) >= 3) or in_oslo_file(path)


def with_numbers_as_text(values: Values) -> Values:
    """The values with whole numbers as text that would get an exponent in a file of options, or in the script
    of a bootstrap; all others as they are. The very same object where there are none."""
    found: Values = _with_numbers_as_text(values, ())
    return found


def _with_numbers_as_text(value: Any, path: DocumentPath) -> Any:
    kind = value.__class__
    if kind is int:
        printed = path[:1] == (_BOOTSTRAP,) or _is_printed(path)
        return str(value) if printed and abs(value) >= EXPONENT_FROM else value
    if kind is not dict and kind is not list:
        return value
    parts = value.items() if kind is dict else enumerate(value)
    changed = {
        key: new
        for key, part in parts
        if part.__class__ in (int, dict, list)
        and (new := _with_numbers_as_text(part, (*path, key))) is not part
    }
    if not changed:
        return value
    return {**value, **changed} if kind is dict else [changed.get(i, one) for i, one in enumerate(value)]


def printed_number(number: float) -> str:
    """A number that is no whole one in YAML, as Go prints it (verb %v)."""
    if number.is_integer() and abs(number) < EXPONENT_FROM:
        return str(int(number))
    if not math.isfinite(number) or 1e-4 <= abs(number) < EXPONENT_FROM:
        return repr(number)
    return next(text for digits in range(18) if float(text := f"{number:.{digits}e}") == number)


def takes_one_line(path: DocumentPath) -> bool:
    """Whether the value at this path becomes an option in a file of options, of any program, or belongs to
    an account, whose name and password are in addresses as well: of several lines it would be more."""
    account = len(path) in (4, 5) and path[0] == "endpoints" and path[2] == "auth"
    return account or in_oslo_file(path) or _is_printed(path)


def as_option_value(text: str) -> str:
    """The text as oslo.config has to find it in a file to read this text."""
    return text.replace("$", "$$")


def from_option_value(text: str) -> str:
    """The text that `as_option_value` was given."""
    return text.replace("$$", "$")


def is_written_as_it_is(path: DocumentPath) -> bool:
    """Whether OpenStack-Helm writes the value into files as it is, and uses it elsewhere as well: the
    password of a service's account, and the key of what memcached holds. No file has those of `admin` and
    `test`."""
    account = len(path) == 5 and path[:3] == ("endpoints", "identity", "auth") and path[4] == "password"
    return (account and path[3] not in ("admin", "test")) or path == _MEMCACHE_KEY
