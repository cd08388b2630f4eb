"""The sum of osctl diff says what its lines say."""

from __future__ import annotations

from rich.console import Console

from controller.cli.commands.diff import as_data, print_diff
from controller.cli.views.diff import Fate, RegionDiff, ReleaseDiff
from controller.domain.releases.manifest_diff import ManifestDiff


def touched(
    name: str, *restarts: str, pods: int = 0, refused: tuple[str, ...] = (), large: bool = False
) -> ReleaseDiff:
    objects = ManifestDiff((), restarts, (), restarts, pods, (), refused)
    size = "its record would take 1200 KiB" if large else ""
    return ReleaseDiff("compute", name, Fate.CHANGED, objects=objects, size=size, too_large=large)


def sum_of(*releases: ReleaseDiff) -> str:
    console = Console(width=300)
    with console.capture() as printed:
        print_diff(console, RegionDiff(releases, 0))
    return printed.get().splitlines()[-1]


def test_a_release_that_kubernetes_refuses_restarts_nothing() -> None:
    nova = touched("nova", "Deployment nova-api", pods=3)
    mariadb = touched(
        "mariadb", "StatefulSet mariadb-server", pods=3, refused=("StatefulSet mariadb-server: x",)
    )
    said = sum_of(nova, mariadb)
    assert "1 workload restarted (3 pods)" in said
    assert "1 release CANNOT BE UPGRADED: mariadb" in said


def test_a_release_that_is_too_large_restarts_nothing_and_is_named() -> None:
    large = touched("nova", "Deployment nova-api", pods=3, large=True)
    said = sum_of(large)
    assert "0 workloads restarted" in said
    assert "1 release CANNOT BE UPGRADED: nova" in said
    assert as_data(RegionDiff((large,), 0))["releases"][0]["cannotBeUpgraded"] is True


def test_pods_of_daemonsets_are_said_to_be_on_each_node() -> None:
    said = sum_of(touched("nova", "Deployment nova-api", "DaemonSet nova-compute", pods=3))
    assert "2 workloads restarted (3 pods, and those of 1 DaemonSet on each node)" in said
    assert "(those of 1 DaemonSet on each node)" in sum_of(touched("libvirt", "DaemonSet libvirt"))
