"""Files of Apache and of Horizon, as the charts render them, are read by Apache and by Python.

Apache is Debian's, with the modules that OpenStack-Helm's images bring, unpacked into the cache.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from sandbox.debian import unpack_packages
from sandbox.errors import SandboxError
from sandbox.locks import locked
from sandbox.paths import cache_root
from sandbox.patience import patient
from tests.render.specs import OIDC
from tests.upstream.regions import charts_given
from tests.upstream.rendered_files import files_of_chart

pytestmark = [
    pytest.mark.upstream,
    pytest.mark.timeout(600),
    pytest.mark.skipif(charts_given() is None, reason="CHARTS names no directory of charts"),
]
PACKAGES = ("apache2-bin", "libapache2-mod-auth-openidc", "libapache2-mod-wsgi-py3")
MODULES = (
    *("mpm_event", "authn_core", "authz_core", "authz_user", "auth_basic", "env", "setenvif", "alias"),
    *("headers", "rewrite", "wsgi", "auth_openidc"),
)


@cache
def apache() -> Path:
    """The directory that Apache is unpacked in; skips the test where this machine cannot have it."""
    root = cache_root() / f"apache-{platform.machine()}"
    with locked(root.with_suffix(".lock"), timeout=900):
        if not (root / "usr/sbin/apache2").exists():
            root.mkdir(parents=True, exist_ok=True)
            try:
                unpack_packages(PACKAGES, _is_wanted, root)
            except SandboxError as error:
                pytest.skip(str(error))
    return root


def _is_wanted(name: str) -> bool:
    return name.startswith(("apache2-bin", "lib")) and not name.startswith(("libc6", "libdb", "libperl"))


def check(text: str, directory: Path) -> str:
    """What `apache2 -t` says of a site."""
    root = apache()
    modules = root / "usr/lib/apache2/modules"
    # Accounts and files of the image, for which a test has others.
    text = re.sub(r"user=\w+ group=\w+", "user=nobody group=nogroup", text)
    text = re.sub(r"exec:/bin/cat /etc/oidc/\S+?(?=\")", "exec:/bin/echo a-secret", text)
    (directory / "logs").mkdir(exist_ok=True)
    lines = [f"LoadModule {name}_module {modules}/mod_{name}.so" for name in MODULES]
    head = [f"ServerRoot {directory}", "ServerName here", "User nobody", "Group nogroup", "PidFile pid"]
    (directory / "apache.conf").write_text("\n".join((*head, *lines, text)) + "\n")
    libraries = ":".join(str(path) for path in (root / "usr/lib").glob("*-linux-gnu"))
    done = subprocess.run(
        [str(root / "usr/sbin/apache2"), "-f", str(directory / "apache.conf"), "-t"],
        env={**os.environ, "LD_LIBRARY_PATH": libraries},
        capture_output=True,
        text=True,
        timeout=patient(60),
        check=False,
    )
    return done.stderr.strip()


@pytest.mark.parametrize("file", ["keystone-etc/wsgi-keystone.conf", "horizon-etc/horizon.conf"])
def test_apache_reads_the_sites_of_the_charts(file: str, tmp_path: Path) -> None:
    chart = file.partition("-")[0]
    assert check(files_of_chart(chart)[file], tmp_path).endswith("Syntax OK")


def test_apache_reads_a_site_with_openid_connect(tmp_path: Path) -> None:
    found = files_of_chart("keystone", identity={"federation": {"providers": [OIDC]}})
    text = found["keystone-etc/wsgi-keystone.conf"]
    assert "OIDCClientID" in text
    assert check(text, tmp_path).endswith("Syntax OK")


def test_an_error_in_a_site_is_found(tmp_path: Path) -> None:
    assert "Invalid command 'OIDCNothing'" in check("OIDCNothing x", tmp_path)


def test_horizons_settings_are_python() -> None:
    text = files_of_chart("horizon")["horizon-etc/local_settings"]
    compile(text, "local_settings", "exec")
