"""Finds the missing right in the API server's text that Helm passes on.

There are two kinds: the account may not do something with an object, or a role grants rights that the account
itself lacks. Refusals by an admission or a quota are different.
"""

from __future__ import annotations

import re

from controller.domain.validation.rbac_union import permissions, union

_NOT_HELD = re.compile(
    r'(?P<kind>[a-z]+)\.rbac\.authorization\.k8s\.io "(?P<name>[^"]*)" is forbidden: '
    r'user "(?P<user>[^"]*)" .*?is attempting to grant RBAC permissions not currently held:(?P<rules>.*)',
    re.DOTALL,
)
_RULE = re.compile(
    r"\{APIGroups:\[(?P<groups>[^\]]*)\], Resources:\[(?P<resources>[^\]]*)\]"
    r"(?:, ResourceNames:\[(?P<names>[^\]]*)\])?, Verbs:\[(?P<verbs>[^\]]*)\]\}"
)
_DENIED = re.compile(
    r'(?P<object>"[^"]*" )?is forbidden: User "(?P<user>[^"]*)" cannot (?P<verb>\w+) '
    r'resource "(?P<resource>[^"]+)" '
    r'in API group "(?P<group>[^"]*)" (?:in the namespace "(?P<namespace>[^"]*)"|at the cluster scope)'
)
_WORD = re.compile(r'"([^"]*)"')


def missing_right(text: str) -> str:
    """The object and the rule in one line; empty if the text is not about a missing right."""
    granting = _NOT_HELD.search(text)
    if granting is not None:
        rules = _rules(granting["rules"])
        holder = _account(granting["user"])
        return f'{granting["kind"]} "{granting["name"]}" would grant what {holder} does not hold: {rules}'
    denied = _DENIED.search(text)
    if denied is None:
        return ""
    resource = _named(denied["resource"], denied["group"])
    where = f'in namespace "{denied["namespace"]}"' if denied["namespace"] else "in the whole cluster"
    return f"{_account(denied['user'])} may not {denied['verb']} {resource} {denied['object'] or ''}{where}"


def _account(user: str) -> str:
    """The account whose right is missing."""
    namespace, found, name = user.removeprefix("system:serviceaccount:").partition(":")
    return f"ServiceAccount {namespace}/{name}" if found else "the controller"


def _rules(text: str) -> str:
    """`get, list of pods, services (apps); …`, as short as possible."""
    rules = [
        {
            "apiGroups": _WORD.findall(one["groups"]),
            "resources": _WORD.findall(one["resources"]),
            "resourceNames": _WORD.findall(one["names"] or ""),
            "verbs": _WORD.findall(one["verbs"]),
        }
        for one in _RULE.finditer(text)
    ]
    return "; ".join(_rule(rule) for rule in union(permissions(rules))) or " ".join(text.split())


def _rule(rule: dict[str, list[str]]) -> str:
    [group] = rule["apiGroups"]
    what = ", ".join(_named(resource, group) for resource in rule["resources"])
    names = f" {', '.join(rule['resourceNames'])}" if "resourceNames" in rule else ""
    return f"{', '.join(rule['verbs'])} of {what}{names}"


def _named(resource: str, group: str) -> str:
    return f"{resource}.{group}" if group else resource
