"""Options whose value is a file that the service reads: certificates, keys, templates and the like. Pure.

Packages call most of them texts, so their names decide. Files that a service writes itself, as logs, sockets
and what lies below its state_path, are not among them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from controller.domain.values.chart_values import DocumentPath, Values, is_map, texts_in
from controller.domain.values.option_files import OptionFiles, confs

_READ = re.compile(
    r"(?:^|_)(?:"
    r"file|files|conffile|keyring|config|template|template_by_arch|template_override|config_append|"
    r"ca|ca_?certs?|ca_?file|ca_path|cacert_?(?:file|dir)|verify_ca|verify_ssl_path|"
    r"certs?|cert_?(?:file|dir|key)|certificate|certificate_key|key_?file|ssh_key|tls_certfile|"
    r"private_key|public_key|client_key|priv_key|path_to_(?:private|public)_key|"
    r"(?:cert|certificate|key|pem|conf|config|map|library|metadata|jsonfile|bundle|file|security_file)_(?:path|dir)|"
    r"(?:config|wsdl)_location"
    r")$"
)
# What services write, and what lies in machines that they make: amphorae, servers that export shares.
_OTHERS = re.compile(
    r"(?:^|_)(?:(?:log|pid|lock)_?file|hosts_key_file|by_file_path)$"
    r"|^(?:cert_path|agent_server_\w+|base_cert_dir|ganesha_config_\w+|service_instance_\w+)$"
)
# What images of services have: their own programs and packages, and the authorities of the distribution.
_OF_IMAGES = ("/usr/", "/opt/", "/var/lib/openstack/", "/bin/", "/sbin/", "/lib/", "/dev/", "/proc/", "/sys/")
_ADDED = "/usr/local/share/ca-certificates/"
_AUTHORITIES = frozenset(
    (
        "/etc/ssl/certs",
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/ssl/cert.pem",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    )
)


def names_a_file(option: str) -> bool:
    """Whether an option of this name is a file, or a directory with some, that the service reads."""
    plain = option.lower().replace("-", "_")
    return bool(_READ.search(plain)) and not _OTHERS.search(plain)


def is_in_images(file: str) -> bool:
    """Whether images of services have the file."""
    return file.rstrip("/") in _AUTHORITIES or (file.startswith(_OF_IMAGES) and not file.startswith(_ADDED))


def files_of_options(values: Values, files: OptionFiles) -> Iterator[tuple[DocumentPath, str]]:
    """The files that options of the values name, each with its path there, of labelled nodes too."""
    for place, conf in confs(values):
        for _, below, content in files.of_conf(conf):
            for section, options in content.items() if is_map(content) else ():
                for name, value in options.items() if is_map(options) else ():
                    if not names_a_file(name):
                        continue
                    for text in texts_in(value):
                        for file in filter(None, (part.strip() for part in text.split(","))):
                            if file.startswith("/") and not is_in_images(file):
                                yield (*place, *below, section, name), file
