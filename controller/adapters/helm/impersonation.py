"""The account that Helm impersonates, if it is not our own."""

from __future__ import annotations


def service_account_user(namespace: str, name: str) -> str:
    """The user name of a ServiceAccount.

    Groups are not needed, because the API server adds those of an impersonated ServiceAccount. So our own
    account needs `impersonate` on that one ServiceAccount, and on no group.
    """
    return f"system:serviceaccount:{namespace}:{name}"
