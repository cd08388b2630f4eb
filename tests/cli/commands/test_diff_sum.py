"""The sums of osctl diff say what its lines say: of pods that restart, and of images."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.console import Console

from controller.cli.commands.diff import as_data, print_diff
from controller.cli.views.diff import Fate, RegionDiff, ReleaseDiff
from controller.domain.releases.manifest_diff import ManifestDiff
from controller.domain.values.values_diff import ABSENT, ValueChange


def touched(
    name: str, *restarts: str, pods: int = 0, refused: tuple[str, ...] = (), large: bool = False
) -> ReleaseDiff:
    objects = ManifestDiff((), restarts, (), restarts, pods, (), refused)
    size = "Helm's record of the release would take 1200 KiB" if large else ""
    return ReleaseDiff("compute", name, Fate.CHANGED, objects=objects, size=size, too_large=large)


def printed(*releases: ReleaseDiff, every_tag: bool = False) -> list[str]:
    console = Console(width=300)
    with console.capture() as found:
        print_diff(console, RegionDiff(releases, 0), every_tag=every_tag)
    return found.get().splitlines()


def sum_of(*releases: ReleaseDiff) -> str:
    return printed(*releases)[-1]


def upgraded(
    name: str, tags: int, image: str = "", before: str = "2025.1", after: str = "2025.2"
) -> ReleaseDiff:
    """A release with so many tags of one image, and another value."""
    repository = f"registry.example.org:5000/openstack/{image or name}"
    images = tuple(
        ValueChange(("images", "tags", f"{name}_{index}"), f"{repository}:{before}", f"{repository}:{after}")
        for index in range(tags)
    )
    option = ValueChange(("conf", name, "DEFAULT", "debug"), False, True, "chart defaults", "services")
    return replace(touched(name, f"Deployment {name}-api"), values=(option, *images))


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
    assert "2 workloads restarted (3 pods, and all pods of 1 DaemonSet, on every node)" in said
    assert "(all pods of 1 DaemonSet, on every node)" in sum_of(touched("libvirt", "DaemonSet libvirt"))


def test_daemonsets_that_get_another_name_are_counted_among_those_that_restart() -> None:
    renamed = replace(touched("nova"), renames=("nova-compute",))
    assert "1 workload restarted (all pods of 1 DaemonSet, on every node)" in sum_of(renamed)


def test_many_tags_of_images_are_summed_up_by_image() -> None:
    client = replace(upgraded("keystone", 3, "client"), release="keystone")
    lines = printed(upgraded("nova", 14), client, upgraded("glance", 2, "client"))
    assert lines[:3] == [
        "~ 2 images in 19 places (--images lists each)",
        "    registry.example.org:5000/openstack/client  2025.1 → 2025.2  (5 places of 2 releases)",
        "    registry.example.org:5000/openstack/nova  2025.1 → 2025.2  (14 places of nova)",
    ]
    nova = lines[lines.index("~ nova") :][:3]
    assert nova[1].startswith("    conf.nova.DEFAULT.debug")
    assert nova[2] == "    images    nova"
    assert not any("images.tags" in line for line in lines)


def test_all_tags_of_images_are_listed_on_request() -> None:
    lines = printed(upgraded("nova", 14), every_tag=True)
    assert sum("images.tags.nova_" in line for line in lines) == 14
    assert lines[0] == "~ nova"


def test_a_few_tags_are_listed_with_who_set_them() -> None:
    lines = printed(upgraded("nova", 2))
    assert sum("images.tags.nova_" in line for line in lines) == 2


@pytest.mark.parametrize("gone", [(ABSENT, "registry/nova:2"), ("registry/nova:1", ABSENT)])
def test_a_tag_that_comes_or_goes_is_no_image_in_the_place_of_another(gone: tuple[object, object]) -> None:
    nova = upgraded("nova", 14)
    with_it = replace(nova, values=(*nova.values, ValueChange(("images", "tags", "new"), *gone)))
    assert sum("images.tags.new" in line for line in printed(with_it)) == 1


def test_images_of_another_registry_are_shown_whole() -> None:
    one = upgraded("nova", 0)
    moved = tuple(
        ValueChange(("images", "tags", f"nova_{i}"), "quay.io/nova:1@sha256:00", "mirror:5000/nova:1")
        for i in range(9)
    )
    lines = printed(replace(one, values=moved))
    assert lines[1] == "    quay.io/nova:1@sha256:00 → mirror:5000/nova:1  (9 places of nova)"


def test_a_release_whose_objects_stay_as_they_are_says_so() -> None:
    quiet = replace(upgraded("ovn", 1), objects=ManifestDiff((), (), (), (), 0, ()))
    assert "    changes   no object" in printed(quiet)


def test_a_migration_is_said_to_have_no_way_back() -> None:
    migrated = replace(
        touched("nova"), values=(ValueChange(("images", "tags", "nova_db_sync"), "nova:1", "nova:2"),)
    )
    assert "migrates the data of 1 release, which cannot go back" in sum_of(migrated, touched("glance"))
    assert as_data(RegionDiff((migrated,), 0))["dataMigrated"] == ["nova"]


def test_another_version_is_said_to_come_in_steps() -> None:
    console = Console(width=300)
    with console.capture() as found:
        print_diff(console, RegionDiff((touched("nova"),), 0, steps=("identity", "compute/computes")))
    lines = found.get().splitlines()
    assert lines[0].startswith("~ upgrade in 2 steps, each begins when the previous one is healthy")
    assert lines[1] == "    identity → compute/computes"
