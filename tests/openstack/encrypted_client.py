"""Runs inside the cloud's virtual environment: connects as a service with these options does.

    encrypted_client.py <URL of the database> <URL of the broker> <file with [oslo_messaging_rabbit]>

Says `database` and `broker` on lines of their own, as each has answered.
"""

import socket
import sys

import oslo_messaging
import sqlalchemy
from oslo_config import cfg

_resolved = socket.getaddrinfo


def _of_the_region(host, *arguments, **named):
    """Names of the region's Services are of loopback here."""
    here = str(host).endswith(".svc.cluster.local")
    return _resolved("127.0.0.1" if here else host, *arguments, **named)


socket.getaddrinfo = _of_the_region
database, broker, file = sys.argv[1:]

with sqlalchemy.create_engine(database).connect() as connection:
    _, cipher = connection.execute(sqlalchemy.text("SHOW STATUS LIKE 'Ssl_cipher'")).fetchone()
    assert cipher
print("database", flush=True)

conf = cfg.CONF  # of which parts of the library ask
conf([f"--config-file={file}"], project="client")
transport = oslo_messaging.get_rpc_transport(conf, broker)


class Answer:
    def asked(self, context, text):
        return text[::-1]


target = oslo_messaging.Target(topic="encrypted", server="here")
server = oslo_messaging.get_rpc_server(transport, target, [Answer()], executor="threading")
server.start()
client = oslo_messaging.get_rpc_client(transport, oslo_messaging.Target(topic="encrypted"), timeout=30)
assert client.call({}, "asked", text="abc") == "cba"
print("broker", flush=True)
server.stop()
