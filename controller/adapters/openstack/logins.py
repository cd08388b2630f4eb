"""Prevents a deadlock in keystoneauth's login."""

from __future__ import annotations

import threading
from typing import Any

from controller.errors import CloudUnavailable


def refuse_login_in_login(plugin: Any) -> None:
    """Makes a plugin of keystoneauth raise CloudUnavailable instead of a login within a login.

    A login first reads the versions of Keystone, without a token. After a 401, keystoneauth repeats this with
    a token (keystoneauth1.discover, get_version_data). It logs in for that token, and waits without end for
    the lock of the first login. Keystone shows its versions without a login; a proxy in front of it may not.
    """
    get_access = plugin.get_access
    logging_in = threading.local()

    def get_access_once(session: Any, **more: Any) -> Any:
        if getattr(logging_in, "now", False):
            raise CloudUnavailable("the login: 401 at auth_url, and the answer does not come from Keystone")
        logging_in.now = True
        try:
            return get_access(session, **more)
        finally:
            logging_in.now = False

    plugin.get_access = get_access_once
