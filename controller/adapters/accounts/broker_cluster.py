"""The port `Brokers`, through RabbitMQ's management API (https://www.rabbitmq.com/docs/http-api-reference)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from controller.adapters.accounts.broker import broker_api
from controller.adapters.accounts.json_api import JsonApi
from controller.errors import ServerUnavailable
from controller.ports.accounts import ServerLogin
from controller.ports.brokers import BrokerCluster, BrokerMember, FeatureFlag

# A check of health that fails answers so.
_FAILED = 503


class ManagedBrokers:
    """`controller.ports.brokers.Brokers`, on the network."""

    def cluster(self, login: ServerLogin) -> BrokerCluster:
        api = broker_api(login)
        try:
            return BrokerCluster(
                members=tuple(_member(one) for one in api.get("/nodes", columns="name,running,partitions")),
                flags=tuple(_flag(one) for one in api.get("/feature-flags")),
                alarmed=_fails(api, "alarms"),
                # Versions before 3.13 do not know them.
                used_features=tuple(str(one["name"]) for one in api.get("/deprecated-features/used") or ()),
            )
        except (AttributeError, LookupError, TypeError):
            raise ServerUnavailable(f"{login.place.shown} does not answer like a broker") from None

    def loses_quorum(self, login: ServerLogin) -> bool:
        return _fails(broker_api(login), "node-is-quorum-critical")

    def enable_flag(self, login: ServerLogin, name: str) -> None:
        broker_api(login).call("PUT", f"/feature-flags/{quote(name, safe='')}/enable", body={})


def _fails(api: JsonApi, check: str) -> bool:
    return api.call("GET", f"/health/checks/{check}", also=(_FAILED,)).status == _FAILED


def _member(found: Mapping[str, Any]) -> BrokerMember:
    return BrokerMember(str(found["name"]), found.get("running") is True, bool(found.get("partitions")))


def _flag(found: Mapping[str, Any]) -> FeatureFlag:
    state = found.get("state")
    return FeatureFlag(
        name=str(found["name"]),
        enabled=state == "enabled",
        stable=found.get("stability") == "stable",
        changing=state == "state_changing",
    )
