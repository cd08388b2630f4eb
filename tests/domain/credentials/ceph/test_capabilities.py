"""Who may do everything is an administrator, in whatever words Ceph has it."""

from __future__ import annotations

import pytest

from controller.domain.credentials.ceph.capabilities import is_administrator, lacking
from tests.domain.credentials.ceph.samples import everything


@pytest.mark.parametrize(
    "capabilities",
    [
        {"mon": "allow *"},
        {"osd": "allow all"},
        {"osd": "profile rbd pool=images, allow *"},
        {"mon": "allow rwx"},
        {"mon": "allow r; allow w"},
        {"mon": "allow rw network 192.0.2.0/24"},
        {"mon": "allow service auth rwx"},
        {"mon": "profile role-definer"},
        {"mon": "allow profile admin"},
        {"mon": "profile mon"},
        {"mon": "profile=admin"},
        {"mon": "allow profile 'role-definer'"},
        {"mon": 'profile "admin"'},
        {"mon": 'allow service="auth" rw'},
        {"mon": 'allow r, allow command "auth get-or-create"'},
        {"mon": "allow command=config-key get"},
        {"MON ": "allow rwx"},
        {"mds": '"allow" "*"'},
    ],
)
def test_who_may_change_what_clients_may_is_an_administrator(capabilities: dict[str, str]) -> None:
    assert is_administrator(capabilities)


@pytest.mark.parametrize(
    "capabilities",
    [
        *(dict(client.capabilities) for client in everything().clients),
        {"mon": "allow profile rbd", "osd": "allow rwx pool=all, allow rwx pool all"},
        {
            "mon": 'allow r, allow command "osd blocklist"',
            "osd": "allow class-read",
        },
        {"mon": "profile=rbd", "osd": "allow rw tag cephfs data=*, allow rw tag cephfs *=*"},
        {},
    ],
)
def test_what_services_need_makes_no_administrator(capabilities: dict[str, str]) -> None:
    assert not is_administrator(capabilities)


@pytest.mark.parametrize(
    "offered",
    [
        "profile rbd pool=images",
        "allow profile rbd pool images",
        "profile=rbd pool='images'",
        'profile "rbd" pool="images"',
        "profile rbd",
        "profile rbd pool=other; profile rbd pool=images",
    ],
)
def test_what_is_written_in_another_way_serves_as_well(offered: str) -> None:
    assert not lacking({"osd": "profile rbd pool=images"}, {"osd": offered})


@pytest.mark.parametrize("offered", ["profile rbd pool=other", "profile rbd pool=images namespace=one", ""])
def test_what_is_for_something_else_does_not_serve(offered: str) -> None:
    assert lacking({"osd": "profile rbd pool=images"}, {"osd": offered})
