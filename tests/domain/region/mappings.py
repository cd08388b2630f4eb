"""Rules of mappings that Keystone takes, and others that it refuses, with what is reported of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

ANY = {"type": "HTTP_OIDC_EMAIL"}
USER = {"user": {"name": "{0}"}}
BY_NAME = {"name": "federated", "domain": {"name": "Default"}}
TAKEN: Sequence[dict[str, Any]] = (
    {"local": [USER], "remote": [ANY]},
    {"local": [], "remote": [ANY]},
    {"local": [{**USER, "group": BY_NAME}], "remote": [ANY]},
    {"local": [USER, {"group": {"id": "5c2c3a"}}], "remote": [ANY]},
    {"local": [{"groups": "{0}", "domain": {"id": "default"}}], "remote": [{**ANY, "whitelist": ["a", "b"]}]},
    {"local": [USER, {"projects": [{"name": "{0}", "roles": [{"name": "member"}]}]}], "remote": [ANY]},
    {
        "local": [{"user": {"name": "{0}", "email": "{0}", "type": "local", "domain": {"name": "Corp"}}}],
        "remote": [ANY, {**ANY, "any_one_of": ["x.*"], "regex": True}, {**ANY, "not_any_of": ["guest"]}],
    },
)


def _local(local: dict[str, Any]) -> dict[str, Any]:
    return {"local": [local], "remote": [ANY]}


def _remote(remote: Any) -> dict[str, Any]:
    return {"local": [USER], "remote": remote}


# Rule, path below it, message.
REFUSED: Sequence[tuple[dict[str, Any], str, str]] = (
    ({"local": [USER]}, "remote", "required, and not set"),
    ({"remote": [ANY]}, "local", "required, and not set"),
    ({"local": [USER], "remote": [ANY], "foo": "bar"}, "foo", 'Keystone does not know "foo" here'),
    (_remote([]), "remote", "must have at least one entry"),
    (_remote(ANY), "remote", "expected a list, got a map"),
    (_remote(["HTTP_OIDC_EMAIL"]), "remote[0]", 'expected a map, got the string "HTTP_OIDC_EMAIL"'),
    (_remote([{"any_one_of": ["a"]}]), "remote[0].type", "required, and not set"),
    (_remote([{**ANY, "any_of": ["a"]}]), "remote[0].any_of", 'Keystone does not know "any_of" here'),
    (_remote([{**ANY, "whitelist": "a"}]), "remote[0].whitelist", 'expected a list, got the string "a"'),
    (
        _remote([{**ANY, "whitelist": ["a"], "blacklist": ["b"]}]),
        "remote[0].whitelist",
        "is given with blacklist, but Keystone accepts only one of them",
    ),
    (
        _remote([{**ANY, "regex": True}]),
        "remote[0].regex",
        "needs one of any_one_of, not_any_of, blacklist, whitelist",
    ),
    (
        _remote([{**ANY, "any_one_of": ["a"], "regex": "true"}]),
        "remote[0].regex",
        'expected true or false, got the string "true"',
    ),
    (_local({"users": {"name": "{0}"}}), "local[0].users", 'Keystone does not know "users" here'),
    (_local({"user": "{0}"}), "local[0].user", 'expected a map, got the string "{0}"'),
    (_local({"user": {"name": 7}}), "local[0].user.name", "expected a text, got the number 7"),
    (_local({"user": {"type": "remote"}}), "local[0].user.type", "must be one of ephemeral, local"),
    *(
        (_local({"group": group}), "local[0].group", "must have either an id, or a name and a domain")
        for group in ({"name": "federated"}, {"id": "x", "name": "y"}, {})
    ),
    (
        _local({"projects": [{"name": "a", "roles": [{"name": "b"}], "domain": {"id": "c"}}]}),
        "local[0].projects[0].domain",
        'Keystone does not know "domain" here',
    ),
    (_local({"projects": [{"name": "a"}]}), "local[0].projects[0].roles", "required, and not set"),
)
