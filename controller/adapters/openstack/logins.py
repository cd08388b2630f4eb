"""Has keystoneauth log in without ever waiting for itself."""

from __future__ import annotations

import threading
from typing import Any

from controller.errors import CloudUnavailable


def refuse_login_in_login(plugin: Any) -> None:
    """Has a plugin of keystoneauth raise CloudUnavailable where it would log in to be able to log in.

    A login reads first which versions Keystone has, without a token. Where that is answered with 401, it is
    asked again with one (keystoneauth1.discover, get_version_data), and for that one logs in, and waits for
    the lock that the first login holds: for ever. Keystone asks nobody who he is for its versions; a proxy
    before it may.
    """
    get_access = plugin.get_access
    logging_in = threading.local()

    def get_access_once(session: Any, **more: Any) -> Any:
        if getattr(logging_in, "now", False):
            raise CloudUnavailable("the login: 401 at auth_url, and the answer is not one of Keystone")
        logging_in.now = True
        try:
            return get_access(session, **more)
        finally:
            logging_in.now = False

    plugin.get_access = get_access_once
