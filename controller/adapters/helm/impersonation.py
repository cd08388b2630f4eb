"""The account that Helm acts as, where that is not our own."""

from __future__ import annotations


def service_account_user(namespace: str, name: str) -> str:
    """The user that a ServiceAccount is to the API server.

    Its groups need not be named: the API server adds those of a ServiceAccount that is impersonated
    without any. So our own account needs `impersonate` of that one ServiceAccount, and of no group.
    """
    return f"system:serviceaccount:{namespace}:{name}"
