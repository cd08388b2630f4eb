"""Runs inside the virtual environment of one OpenStack series: Octavia's own code at both ends of its TLS.

JSON on stdin: `conf`, an octavia.conf, and `steps`; the answer of each step as JSON on stdout. The process is
a worker of Octavia, which begins with the first files that are mounted, and goes on with those after. Steps:

  ["mount", {path below /etc/octavia: text}]  as the kubelet does, all at once
  ["boot", name]      an amphora with a certificate that the worker signs, and whom to trust
  ["call", name]      what the worker is answered
  ["renew", name]     the amphora gets another certificate, as from the housekeeping
  ["intrude", name, by]  the first amphora is asked with the certificate of the second
"""

import base64
import json
import os
import socket
import ssl
import sys
import tempfile
import time
import uuid
import warnings
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

SECONDS = 30
PLACE = "/etc/octavia"


def answer(environ, start_response):
    """What the agent says of itself."""
    start_response("200 OK", [("Content-Type", "application/json")])
    return [b'{"api_version": "1.0"}']


def serve(directory, port):
    """The agent of an amphora, with the options of octavia.cmd.agent."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    from octavia.cmd.agent import AmphoraAgent
    from oslo_config import cfg

    proto = cfg.CONF.amphora_agent.agent_tls_protocol.replace(".", "_")
    options = {
        "bind": f"127.0.0.1:{port}",
        "workers": 1,
        "timeout": cfg.CONF.amphora_agent.agent_request_read_timeout,
        "certfile": str(directory / "server.pem"),
        "ca_certs": str(directory / "client_ca.pem"),
        "cert_reqs": ssl.CERT_REQUIRED,
        "ssl_version": getattr(ssl, f"PROTOCOL_{proto}"),
        "preload_app": True,
    }
    sys.argv = ["amphora-agent"]
    AmphoraAgent(answer, options).run()


def free_port():
    """One that no one listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Worker:
    """Octavia's worker, and the amphorae that it has made."""

    def __init__(self, directory, conf):
        self.directory = Path(directory)
        self.conf = conf
        self.mounts = 0
        self.amphorae = {}
        self.client = None

    def mount(self, files):
        """The link changes at once to what is new, as in a mounted Secret."""
        self.mounts += 1
        new = self.directory / f"mounted-{self.mounts}"
        for path, text in files.items():
            (new / path).parent.mkdir(parents=True, exist_ok=True)
            (new / path).write_text(text)
        link = self.directory / "new"
        link.symlink_to(new)
        link.replace(self.directory / "octavia")
        if self.client is None:
            self.start()

    def start(self):
        """Reads its options, once."""
        from octavia.amphorae.drivers.haproxy import rest_api_driver
        from octavia.common import config

        path = self.directory / "octavia.conf"
        place = self.directory / "octavia"
        path.write_text(self.conf.replace(PLACE, str(place)))
        config.init([f"--config-file={path}", f"--config-dir={place / 'octavia.conf.d'}"])
        self.client = rest_api_driver.AmphoraAPIClientBase()

    def signed(self, amphora_id):
        """Certificate and key for an amphora, as a flow hands them on."""
        from cryptography.fernet import Fernet
        from octavia.controller.worker.v2.tasks.cert_task import GenerateServerPEMTask
        from oslo_config import cfg

        pem = GenerateServerPEMTask().execute(amphora_id)
        words = cfg.CONF.certificates.server_certs_key_passphrase  # a list since 2025.2
        key = words if isinstance(words, str) else words[0]
        return Fernet(base64.urlsafe_b64encode(key.encode())).decrypt(pem.encode()).decode()

    def boot(self, name):
        from oslo_config import cfg

        amphora = SimpleNamespace(id=str(uuid.uuid4()), lb_network_ip="127.0.0.1", api_version=None)
        amphora.directory, amphora.port = self.directory / name, free_port()
        amphora.directory.mkdir()
        (amphora.directory / "server.pem").write_text(self.signed(amphora.id))
        # As octavia.controller.worker.v2.tasks.compute_tasks.CertComputeCreate.
        known = Path(cfg.CONF.controller_worker.client_ca).read_text(encoding="utf-8")
        (amphora.directory / "client_ca.pem").write_text(known)
        amphora.process = get_context("fork").Process(target=serve, args=(amphora.directory, amphora.port))
        amphora.process.start()
        self.amphorae[name] = amphora
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", amphora.port)) == 0:
                    return "listens"
            time.sleep(0.05)
        return "does not listen"

    def renew(self, name):
        amphora = self.amphorae[name]
        (amphora.directory / "server.pem").write_text(self.signed(amphora.id))

    def call(self, name):
        return self._asked(self.client, self.amphorae[name])

    def intrude(self, name, by):
        from octavia.amphorae.drivers.haproxy import rest_api_driver

        intruder = rest_api_driver.AmphoraAPIClientBase()
        intruder.session.cert = str(self.amphorae[by].directory / "server.pem")
        return self._asked(intruder, self.amphorae[name])

    def _asked(self, client, amphora):
        from octavia.amphorae.driver_exceptions import exceptions as driver_exceptions
        from octavia.common import constants
        from oslo_config import cfg

        cfg.CONF.set_override("bind_port", amphora.port, "haproxy_amphora")
        once = {
            constants.REQ_CONN_TIMEOUT: SECONDS,
            constants.REQ_READ_TIMEOUT: SECONDS,
            constants.CONN_MAX_RETRIES: 1,
            constants.CONN_RETRY_INTERVAL: 0,
        }
        client.session.close()  # or an earlier connection would be used again
        try:
            return client.get_api_version(amphora, once, raise_retry_exception=True)
        except driver_exceptions.AmpConnectionRetry as error:
            return f"refused: {error}"

    def end(self):
        """Ends the amphorae."""
        for amphora in self.amphorae.values():
            amphora.process.terminate()
            amphora.process.join(SECONDS)


def main():
    warnings.simplefilter("ignore")
    asked = json.load(sys.stdin)
    # Packages print while they are imported.
    answers, sys.stdout = sys.stdout, sys.stderr
    with tempfile.TemporaryDirectory() as directory:
        worker = Worker(directory, asked["conf"])
        try:
            found = [getattr(worker, step)(*given) for step, *given in asked["steps"]]
        finally:
            worker.end()
    json.dump(found, answers)


if __name__ == "__main__":
    main()
