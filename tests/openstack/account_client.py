"""Runs inside the cloud's virtual environment: works with the accounts of a service, as its pods do.

    account_client.py < one line of JSON: host, ports, and a name and password for each server

A connection of each kind is kept, another is made each time, and a token is asked for. SIGTERM ends it; the
last line is what was counted.
"""

import json
import os
import signal
import sys

import kombu
import pymysql
from keystoneauth1 import session
from keystoneauth1.identity import v3

given = json.loads(sys.stdin.readline())
host, logins = given["host"], given["logins"]
ended = []


def database():
    name, password = logins["database"]
    return pymysql.connect(host=host, port=given["database"], user=name, password=password, database="glance")


def broker():
    name, password = logins["broker"]
    return kombu.Connection(f"amqp://{name}:{password}@{host}:{given['broker']}/glance")


def query(connection):
    with connection.cursor() as cursor:
        cursor.execute("SELECT DATABASE()")
        assert cursor.fetchone() == ("glance",)


def message(connection):
    # Of its own: another client would take the message with its own, and never give it back.
    queue = connection.SimpleQueue(f"rotation-test-{os.getpid()}")
    queue.put("a message")
    queue.get(timeout=20).ack()
    queue.close()


def token():
    name, password = logins["keystone"]
    scope = {"user_domain_name": "service", "project_domain_name": "service", "project_name": "service"}
    asked = v3.Password(auth_url=given["keystone"], username=name, password=password, **scope)
    assert session.Session(auth=asked).get_token()


def fresh(connect, use):
    connection = connect()
    try:
        use(connection)
    finally:
        (connection.close if connect is database else connection.release)()


signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
counted = {"requests": 0, "failures": []}
kept_database, kept_broker = database(), broker()
kept_database.autocommit(True)
work = (
    lambda: query(kept_database),
    lambda: message(kept_broker),
    lambda: fresh(database, query),
    lambda: fresh(broker, message),
    token,
)
while not ended:
    for one in work:
        try:
            one()
        except Exception as error:
            counted["failures"].append(f"{type(error).__name__}: {error}"[:300])
        counted["requests"] += 1
    if counted["requests"] == len(work):
        if counted["failures"]:
            break
        print("ready", flush=True)
kept_database.close()
kept_broker.release()
print(json.dumps(counted), flush=True)
