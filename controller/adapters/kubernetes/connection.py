"""The connection of a container to its API server: a kubeconfig file, or the pod's service account.

The kubelet replaces the token file of a service account about every hour. This module reads it again when it
changes, for all clients.
"""

from __future__ import annotations

import os
import ssl
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pykube
import yaml
from pykube.http import KubernetesHTTPAdapter
from requests.utils import get_environ_proxies, select_proxy
from urllib3.util import ssl_

from controller.errors import KubeError

if TYPE_CHECKING:
    import kopf

SERVICE_ACCOUNT_DIR = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass
class TokenFile:
    """A bearer token in a file that another program rotates."""

    path: Path
    _text: str = field(default="", repr=False)
    _stamp: tuple[int, int] = (0, 0)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def read(self) -> str:
        """The current token in the file. Raises KubeError when it cannot be read."""
        with self._lock:
            try:
                stat = self.path.stat()
                stamp = (stat.st_mtime_ns, stat.st_ino)
                if stamp != self._stamp:
                    self._text = self.path.read_text(encoding="utf-8").strip()
                    self._stamp = stamp
            except OSError as error:
                raise KubeError(f"cannot read the service account's token: {error.strerror}") from error
            return self._text


@dataclass(frozen=True)
class Connection:
    """Everything needed to open clients: pykube's configuration, and the token's file if there is one.

    `kubeconfig` is the path given, None inside a pod. `acts_as`: the user to impersonate, or empty.
    """

    config: pykube.KubeConfig
    token_file: TokenFile | None
    kubeconfig: Path | None
    acts_as: str = ""

    def headers(self) -> dict[str, str]:
        """The user agent and the impersonated user.

        The API server adds the groups of an impersonated ServiceAccount.
        """
        found = {"Authorization": f"Bearer {self.token_file.read()}"} if self.token_file else {}
        return {**found, "Impersonate-User": self.acts_as} if self.acts_as else found

    @property
    def server(self) -> str:
        """Base URL of the API server."""
        return str(self.config.cluster["server"])

    @property
    def proxy(self) -> str | None:
        """The proxy on the way to it that HTTPS_PROXY and NO_PROXY name, as pykube's requests take it."""
        return select_proxy(self.server, get_environ_proxies(self.server))


def connect(kubeconfig: Path | None = None, context: str = "") -> Connection:
    """The connection that `kubeconfig` (or KUBECONFIG, or the pod's service account) describes.

    `context` is one of the file's contexts, its current one when empty. Raises KubeError when there is no
    such file or context, or the file is not a kubeconfig. It sends nothing yet.
    """
    path = kubeconfig
    if path is None and os.environ.get("KUBECONFIG"):
        path = Path(os.environ["KUBECONFIG"])
    try:
        if path is None and (SERVICE_ACCOUNT_DIR / "token").exists():
            config = pykube.KubeConfig.from_service_account(str(SERVICE_ACCOUNT_DIR))
            config.user.pop("token", None)
            return Connection(config, TokenFile(SERVICE_ACCOUNT_DIR / "token"), None)
        config = pykube.KubeConfig.from_file(str(path) if path else None)
        if context:
            config.set_current_context(context)
        if config.current_context not in config.contexts:
            known = ", ".join(sorted(config.contexts)) or "none"
            raise KubeError(f'the kubeconfig has no context "{config.current_context}"; it has: {known}')
        config.cluster["server"]
        named = config.user.get("tokenFile")
    except (pykube.exceptions.PyKubeError, KeyError, OSError, RuntimeError) as error:
        # RuntimeError: the default file is in the home directory, and there is none.
        raise KubeError(f"no usable kubeconfig and no service account: {error}") from error
    except (yaml.YAMLError, TypeError, ValueError, AttributeError) as error:
        # Without the error's text, which may contain a token from the file.
        raise KubeError(f"{path or 'the kubeconfig'} is no kubeconfig ({type(error).__name__})") from None
    token_file = None
    if named:
        # Relative paths in a kubeconfig are relative to its directory (Kubernetes documentation,
        # "Organizing Cluster Access Using kubeconfig Files").
        base = config.kubeconfig_path.parent if config.kubeconfig_path else Path()
        token_file = TokenFile(base / named)
        config.user.pop("token", None)
    return Connection(config, token_file, config.kubeconfig_path)


def open_client(connection: Connection) -> pykube.HTTPClient:
    """A client of its own for one thread. Nothing is sent yet."""
    client = pykube.HTTPClient(connection.config)
    client.session.mount("https://", _Adapter(connection.config))
    return client


def as_kubectl_verifies(context: ssl.SSLContext) -> ssl.SSLContext:
    """The same context without the strict checks of Python 3.13, which Kubernetes' own clients do not make.

    Authorities of many clusters have no identifiers of their keys (RFC 5280, section 4.2.1). Chain, name and
    time are verified as before.
    """
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


class _Adapter(KubernetesHTTPAdapter):  # type: ignore[misc]
    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        insecure = bool(self.kube_config.cluster.get("insecure-skip-tls-verify"))
        context = ssl_.create_urllib3_context(cert_reqs=ssl.CERT_NONE if insecure else ssl.CERT_REQUIRED)
        super().init_poolmanager(*args, **kwargs, ssl_context=as_kubectl_verifies(context))


def kopf_login(connection: Connection) -> kopf.ConnectionInfo:
    """The same connection for Kopf's watches, with the token as it is now.

    Kopf keeps it until the server answers 401, then asks again and gets the rotated token.
    """
    # osctl connects too, has no watches, and would wait a third of a second for Kopf's import.
    import kopf

    cluster, user = connection.config.cluster, connection.config.user
    ca, certificate, key = (
        section.get(name)
        for section, name in (
            (cluster, "certificate-authority"),
            (user, "client-certificate"),
            (user, "client-key"),
        )
    )
    return kopf.ConnectionInfo(
        server=connection.server,
        ca_path=ca.filename() if ca else None,
        insecure=bool(cluster.get("insecure-skip-tls-verify")),
        certificate_path=certificate.filename() if certificate else None,
        private_key_path=key.filename() if key else None,
        token=connection.token_file.read() if connection.token_file else user.get("token"),
        default_namespace=connection.config.namespace,
    )
