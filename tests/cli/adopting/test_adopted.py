"""Releases with values of someone's own become a region that renders exactly what runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from controller.cli.adopting.running import RunningReleases
from controller.cli.main import app
from controller.domain.adoption.search import with_field
from controller.domain.values.chart_values import lookup
from tests.charts.lean import CHARTS, credentials
from tests.cli.adopting.running import adopted, running

PASSWORD = "of-someone-who-chose-it"


@pytest.fixture(scope="module")
def releases() -> RunningReleases:
    given = {name: dict(credentials(name)) for name in ("mariadb", "rabbitmq", "memcached", "keystone")}
    given["mariadb"] = with_field(given["mariadb"], ("volume", "size"), "33Gi")
    place = ("endpoints", "oslo_db", "auth", "keystone", "password")
    given["keystone"] = with_field(given["keystone"], place, PASSWORD)
    given["keystone"] = with_field(given["keystone"], ("conf", "keystone", "token", "expiration"), 7200)
    given["keystone"] = with_field(given["keystone"], ("conf", "keystone", "ldap", "password"), PASSWORD)
    return running(given, CHARTS)


def test_all_of_it_renders_as_it_runs(releases: RunningReleases) -> None:
    found, leftovers, objects = adopted(releases, {})
    assert [name for name, one in objects.items() if not one.equal] == []
    assert found.start is not None and found.difference < found.start
    spec = leftovers.spec
    assert lookup(spec, ("features", "database", "volumeSize")) == "33Gi"
    assert lookup(spec, ("features", "services", "disabled"))
    own = lookup(spec, ("services", "identity", "keystone", "values", "conf", "keystone"))
    assert own["token"] == {"expiration": 7200}
    # A password is in a Secret, and nowhere in the region.
    reference = own["ldap"]["password"]["$secretRef"]
    assert leftovers.text(reference["name"], reference["key"]) == PASSWORD
    assert PASSWORD not in repr(leftovers.spec)
    assert leftovers.text("identity-credentials", "database-password") == PASSWORD
    path = ("spec", "services", "identity", "keystone", "values", "conf", "keystone", "token", "expiration")
    assert leftovers.notes[path]
    assert leftovers.kept == ()


def test_another_chart_shows_what_differs_and_restarts(releases: RunningReleases) -> None:
    """As if the chart had another image then, which no value sets."""
    memcached = releases.releases["memcached"]
    assert memcached.manifest is not None
    for obj in memcached.manifest.manifest:
        if obj["kind"] == "StatefulSet":
            obj["spec"]["template"]["spec"]["containers"][0]["image"] = "memcached:old"
    _, _, objects = adopted(RunningReleases({"memcached": memcached}), {})
    assert not objects["memcached"].equal
    difference = objects["memcached"].difference
    assert difference is not None
    assert (difference.restarts, difference.created) == (("StatefulSet memcached-memcached",), ())


def test_the_command_writes_files_from_files(tmp_path: Path) -> None:
    values = tmp_path / "memcached.yaml"
    given = yaml.safe_load((CHARTS / "memcached" / "values.yaml").read_text(encoding="utf-8"))
    values.write_text(
        yaml.safe_dump({**given, "pod": {**given["pod"], "labels": {"a": "b"}}}), encoding="utf-8"
    )
    place = tmp_path / "adopted"
    arguments = ["adopt", "--values", f"memcached={values}", "--values", f"web={values}", "-n", "cloud"]
    done = CliRunner().invoke(app, [*arguments, "--write", str(place)])
    assert done.exit_code == 0, done.output
    assert "web: no chart of the catalogue" in done.output
    region = yaml.safe_load((place / "region.yaml").read_text(encoding="utf-8"))
    assert (region["metadata"]["namespace"], region["spec"]["mode"]) == ("cloud", "Plan")
    assert lookup(region, ("spec", "services", "cache", "memcached", "values", "pod", "labels")) == {"a": "b"}
    assert (place / "secrets.yaml").stat().st_mode & 0o777 == 0o600
    validated = CliRunner().invoke(app, ["validate", str(place / "region.yaml")])
    assert validated.exit_code == 0, validated.output


def test_a_file_of_overrides_is_laid_over_the_defaults_of_its_chart(tmp_path: Path) -> None:
    values = tmp_path / "memcached.yaml"
    values.write_text("pod: {labels: {a: b}}\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["adopt", "--values", f"memcached={values}", "-o", "json"])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report["completed"] == ["memcached"]
    [release] = report["releases"]
    assert release["values"] < 20, "a default that the file does not name counts as no difference"


def test_without_a_release_of_a_region_nothing_is_written(tmp_path: Path) -> None:
    values = tmp_path / "web.yaml"
    values.write_text("a: 1\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["adopt", "--values", f"web={values}"])
    assert done.exit_code == 6
    assert "no chart of the catalogue has this name" in done.output
