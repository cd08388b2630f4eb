"""Which values charts write into files of oslo.config, and how a secret is written there.

In such a file `$name` stands for the value of another option, and `$$` for a dollar sign (oslo.config,
"Option Value Interpolation"). A chart writes what it is given, so a secret with a `$` would become another
one, or an option that cannot be read.
"""

from __future__ import annotations

from controller.domain.values.chart_values import DocumentPath

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
_MEMCACHE_KEY = ("endpoints", "oslo_cache", "auth", "memcache_secret_key")


def in_oslo_file(path: DocumentPath) -> bool:
    """Whether charts write the value at this path into such a file. Values for labelled nodes have a `conf`
    of their own, further in."""
    if "conf" not in path:
        return False
    below = path[len(path) - path[::-1].index("conf") :]
    file = below[0] if below else ""
    # File, section and option, some below a directory.
    return len(below) >= 4 if file in OSLO_DIRECTORIES else len(below) >= 3 and file in OSLO_FILES


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
