"""osctl gather: what the support file has, what it never has, and how it ends."""

from __future__ import annotations

import base64
import hashlib
import json
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from click.testing import Result

import controller.cli.commands.gather as commands
from controller.cli.cluster import Cluster
from controller.cli.gathering import archive
from controller.cli.gathering.gather import Gatherer
from controller.cli.gathering.masks import Mask
from controller.cli.gathering.parts import Places
from controller.domain.api.names import API_VERSION
from controller.domain.api.region_name import RegionName
from controller.domain.shared.redaction import MARK, Redactor
from controller.ports.kubernetes import OSDPL
from tests.cli.objects import osctl
from tests.fakes.kube import FakeKube
from tests.fakes.survey import FakeSurvey
from tests.fakes.world import FakeClock

KNOWN = "kN0wn/of+a Secret%"
KEY = "-----BEGIN PRIVATE KEY-----\nMIIPlantedKeyOfNobody0123\n-----END PRIVATE KEY-----\n"
# In no Secret, each where a person or a program may write it.
_PLACES = (
    *("env", "args", "command", "configmap", "annotation", "managed", "option"),
    *("url", "line", "list", "variable", "binary", "opaque"),
)
CLEAR = {place: f"clear-{hashlib.sha256(place.encode()).hexdigest()[:20]}" for place in _PLACES}


def obj(kind: str, name: str, namespace: str | None = "openstack", **more: Any) -> dict[str, Any]:
    groups = {"Deployment": "apps/v1", "OpenStackDeployment": API_VERSION, "HelmBundle": API_VERSION}
    meta = {"name": name, **({"namespace": namespace} if namespace else {}), **more.pop("metadata", {})}
    return {"apiVersion": groups.get(kind, "v1"), "kind": kind, "metadata": meta, **more}


def template(**more: Any) -> dict[str, Any]:
    container = {
        "name": "api",
        "image": "registry.example.org/nova:1",
        "env": [{"name": "COLOUR", "value": CLEAR["env"]}],
        "args": [CLEAR["args"]],
        "command": ["sh", "-c", CLEAR["command"]],
        "resources": {"limits": {"memory": "1Gi"}},
    }
    return {"nodeName": "cmp1", "containers": [container], **more}


REFERENCE = {"name": "nova-db", "key": "password"}
REGION = obj(
    "OpenStackDeployment",
    "region-one",
    metadata={
        "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": CLEAR["annotation"],
            "osctl.dev/region-reconcile-requested-at": "2026-03-01",
        }
    },
    spec={
        "openstackVersion": "2026.1",
        "features": {
            "credentials": {"compute": {"database-password": {"name": "nova-db", "key": "password"}}}
        },
        "services": {
            "compute": {
                "nova": {
                    "values": {
                        "conf": {
                            "nova": {
                                "key_manager": {"fixed_key": CLEAR["option"]},
                                "DEFAULT": {
                                    "transport_url": f"rabbit://nova:{CLEAR['url']}@broker:5672/nova"
                                },
                                "oslo_limit": {"colour": KNOWN},
                            },
                            "text": f"[store]\ncolour = blue\npassword = {CLEAR['line']}\n",
                            "hmac_keys": [CLEAR["list"]],
                            "pem": KEY,
                            "env": [{"name": "DB_PASSWORD", "value": CLEAR["variable"]}],
                        }
                    }
                }
            }
        },
    },
    status={"conditions": [{"type": "Ready", "status": "False", "reason": "X", "message": f"with {KNOWN}"}]},
)


@dataclass
class Bed:
    """A cluster with secrets in every place, and the command on it."""

    kube: FakeKube
    survey: FakeSurvey
    directory: Path

    @property
    def file(self) -> Path:
        return self.directory / "it.tar.gz"

    def gather(self, *options: str) -> Result:
        return osctl("gather", "--to", str(self.file), *options)

    def entries(self) -> dict[str, str]:
        with tarfile.open(self.file) as tar:
            return {
                one.name.partition("/")[2]: (tar.extractfile(one) or pytest.fail(one.name)).read().decode()
                for one in tar.getmembers()
            }

    def manifest(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.entries()["manifest.json"])
        return found

    def left_out(self) -> dict[str, str]:
        return {one["path"]: one["why"] for one in self.manifest()["leftOut"]}


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bed]:
    clock = FakeClock(start=1_780_000_000.0)
    kube = FakeKube(clock=clock)
    bed = Bed(kube, FakeSurvey(kube, clock), tmp_path)
    for one in planted():
        made = kube.create(one)
        if "status" in one:
            kube.replace({**made, "status": one["status"]}, subresource="status")
    kube.logs["openstack-controller", "controller-0", "core"] = f'{{"message": "sent {KNOWN}"}}\nplain line'
    kube.previous_logs["openstack-controller", "controller-0", "core"] = "ended with 137"
    monkeypatch.setattr(commands, "open_cluster", lambda *given: Cluster(kube, given[2]))
    monkeypatch.setattr(commands, "open_survey", lambda *_: bed.survey)
    monkeypatch.setattr(commands, "SystemClock", lambda: clock)
    yield bed


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


BINARY = base64.b64encode(b"\xff\xfe" + CLEAR["binary"].encode()).decode()


def lines_of(entry: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in entry.splitlines()]


def planted() -> Iterator[dict[str, Any]]:
    text = {"password": KNOWN, "pair": "first-line-of-the-pair\nsecond-line-of-the-pair"}
    yield obj("Secret", "nova-db", data={k: base64.b64encode(t.encode()).decode() for k, t in text.items()})
    yield obj(
        "Secret", "binary", data={"key": base64.b64encode(b"\xff\xfe" + CLEAR["binary"].encode()).decode()}
    )
    record = {
        "owner": "helm",
        "name": "nova",
        "version": "3",
        "status": "deployed",
        "osctl.dev/digest": "ab12",
    }
    yield obj(
        "Secret",
        "sh.helm.release.v1.nova.v3",
        metadata={"labels": record},
        type="helm.sh/release.v1",
        data={"release": encoded(CLEAR["opaque"])},
    )
    yield REGION
    values = {"conf": {"nova": {"DEFAULT": {"colour": KNOWN}}}}
    yield obj(
        "HelmBundle",
        "compute",
        metadata={"labels": {"osctl.dev/deployment": "region-one"}},
        spec={"releases": [{"name": "nova", "values": values}]},
    )
    ended = {"state": {"terminated": {"message": f"refused {quote(KNOWN, safe='')}", "exitCode": 1}}}
    labels = {"app.kubernetes.io/name": "openstack-controller"}
    for name, namespace in (("nova-api-0", "openstack"), ("controller-0", "openstack-controller")):
        spec = template()
        spec["containers"][0]["name"] = "core" if name == "controller-0" else "api"
        status = {"phase": "Running", "containerStatuses": [{"name": "api", **ended}]}
        meta = {"labels": labels, "managedFields": [{"manager": CLEAR["managed"]}]}
        yield obj("Pod", name, namespace, metadata=meta, spec=spec, status=status)
    yield obj("Deployment", "nova-api", spec={"replicas": 3, "template": {"spec": template()}})
    yield obj("ConfigMap", "nova-bin", data={"start.sh": CLEAR["configmap"]})
    yield obj("ConfigMap", "osctl-credentials", data={"compute": "nova-password"})
    message = f"Error: {encoded(KNOWN)} and first-line-of-the-pair"
    about = {"kind": "Pod", "name": "nova-api-0"}
    yield obj("Event", "e1", type="Warning", reason="Failed", message=message, involvedObject=about)
    yield obj(
        "Node",
        "cmp1",
        None,
        metadata={"annotations": {"openstack.osctl.dev/host": "cmp1.example", "else": CLEAR["annotation"]}},
        status={"nodeInfo": {"kubeletVersion": "v1.36.0"}},
    )


def test_no_secret_is_in_the_file_wherever_it_stood(bed: Bed) -> None:
    found = bed.gather()
    assert found.exit_code == 0, found.output
    everything = "\n".join(bed.entries().values()) + found.output
    forms = Redactor([KNOWN, *CLEAR.values(), "first-line-of-the-pair", "MIIPlantedKeyOfNobody0123"])
    assert forms.redact(everything) == everything
    assert everything.count(MARK) > 10


def test_what_helps_is_in_the_file(bed: Bed) -> None:
    assert bed.gather().exit_code == 0
    entries = bed.entries()
    [region] = lines_of(entries["region/openstackdeployments.jsonl"])
    assert region["status"]["conditions"][0]["message"] == f"with {MARK}"
    assert region["spec"]["features"]["credentials"]["compute"]["database-password"] == REFERENCE
    conf = region["spec"]["services"]["compute"]["nova"]["values"]["conf"]
    assert conf["nova"]["DEFAULT"]["transport_url"] == f"rabbit://nova:{MARK}@broker:5672/nova"
    assert conf["text"] == f"[store]\ncolour = blue\npassword = {MARK}\n"
    assert region["metadata"]["annotations"] == {"osctl.dev/region-reconcile-requested-at": "2026-03-01"}
    [pod] = lines_of(entries["openstack/pods.jsonl"])
    container = {
        "name": "api",
        "image": "registry.example.org/nova:1",
        "resources": {"limits": {"memory": "1Gi"}},
    }
    assert pod["spec"] == {"nodeName": "cmp1", "containers": [container]}
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 1
    [release] = lines_of(entries["region/releases.jsonl"])
    assert (release["release"], release["revision"], release["status"]) == ("nova", "3", "deployed")
    log = entries["openstack-controller/logs/controller-0/core.log"]
    assert log == f'{{"message": "sent {MARK}"}}\nplain line\n'
    assert entries["openstack-controller/logs/controller-0/core.previous.log"] == "ended with 137\n"
    assert '"annotations":{"openstack.osctl.dev/host":"cmp1.example"}' in entries["cluster/nodes.jsonl"]
    secrets = lines_of(entries["openstack/secrets.jsonl"])
    assert {one["metadata"]["name"]: one["keys"] for one in secrets} == {
        "binary": ["key"],
        "nova-db": ["pair", "password"],
    }
    maps = {one["metadata"]["name"]: one for one in lines_of(entries["openstack/configmaps.jsonl"])}
    assert "data" not in maps["nova-bin"] and maps["osctl-credentials"]["data"] == {
        "compute": "nova-password"
    }
    assert json.loads(entries["versions.json"]) == {
        "kubernetes": {"gitVersion": "v1.36.0", "platform": "linux/amd64"}
    }


def test_the_manifest_lists_every_entry_with_its_digest(bed: Bed) -> None:
    found = bed.gather()
    entries, manifest = bed.entries(), bed.manifest()
    assert manifest["complete"] is True and manifest["region"] == "openstack/region-one"
    listed = {one["path"]: one for one in manifest["entries"]}
    assert listed.keys() == entries.keys() - {"manifest.json"}
    for path, one in listed.items():
        octets = entries[path].encode()
        assert (one["bytes"], one["sha256"]) == (len(octets), hashlib.sha256(octets).hexdigest())
    assert f"{bed.file}: {len(listed)} entries" in found.stdout
    assert list(entries)[-1] == "manifest.json"


def test_what_the_api_server_refuses_is_missing_and_named(bed: Bed) -> None:
    bed.survey.refused = {"Node", "log"}
    found = bed.gather()
    assert found.exit_code == 6
    assert "left out: cluster/nodes.jsonl: nodes is forbidden" in found.stderr
    assert bed.left_out()["cluster/nodes.jsonl"] == "nodes is forbidden"
    assert (
        bed.left_out()["openstack-controller/logs/controller-0/core.log"]
        == 'pods/log "controller-0" is forbidden'
    )
    assert bed.manifest()["complete"] is False
    entries = bed.entries()
    assert "region/openstackdeployments.jsonl" in entries and "cluster/nodes.jsonl" not in entries


def test_a_list_that_breaks_off_keeps_what_came_before(bed: Bed) -> None:
    bed.kube.create(obj("Pod", "nova-api-1", spec=template()))
    bed.survey.breaks_after = {"Pod": 1}
    assert bed.gather().exit_code == 6
    assert len(bed.entries()["openstack/pods.jsonl"].splitlines()) == 1
    assert bed.left_out()["openstack/pods.jsonl"] == "the right was taken away meanwhile"


@pytest.mark.parametrize("namespace", ["openstack", "openstack-controller"])
def test_without_the_secrets_texts_of_others_are_left_out(bed: Bed, namespace: str) -> None:
    bed.survey.refused = {f"Secret in {namespace}"}
    found = bed.gather()
    assert found.exit_code == 6
    left_out, entries = bed.left_out(), bed.entries()
    why = f"the Secrets of {namespace} cannot be read, so texts cannot be searched for them"
    for path in ("openstack/events.jsonl", "openstack-controller/logs/controller-0/core.log"):
        assert left_out[path] == why and path not in entries
    [pod] = lines_of(entries["openstack/pods.jsonl"])
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"] == {"message": MARK, "exitCode": 1}
    [region] = lines_of(entries["region/openstackdeployments.jsonl"])
    assert region["status"]["conditions"][0]["message"] != MARK
    clear = Redactor(CLEAR.values())
    everything = "\n".join(entries.values())
    assert clear.redact(everything) == everything


def test_at_its_deadline_it_ends_with_what_there_is(bed: Bed) -> None:
    bed.survey.pause = 1.0
    found = bed.gather("--timeout", "12s")
    assert found.exit_code == 4
    left_out = bed.left_out()
    assert set(left_out.values()) <= {"the time was over", "cut: the time was over"}
    assert "region/openstackdeployments.jsonl" in bed.entries() and "openstack/configmaps.jsonl" in left_out
    assert "missing or cut, as manifest.json says" in found.stdout


def test_it_grows_no_larger_than_it_may(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "ENTRY_OCTETS", 1500)
    for number in range(20):
        bed.kube.create(obj("Pod", f"nova-api-1{number}", spec=template()))
    assert bed.gather().exit_code == 4
    sizes = {one["path"]: one["bytes"] for one in bed.manifest()["entries"]}
    assert max(sizes.values()) <= 1500 and sizes["openstack/pods.jsonl"] > 1
    assert bed.left_out()["openstack/pods.jsonl"] == "cut: the entry is full"
    assert all(json.loads(line) for line in bed.entries()["openstack/pods.jsonl"].splitlines())


def test_a_full_file_has_the_first_parts_and_the_manifest(bed: Bed) -> None:
    clock = bed.survey.clock
    places = Places(RegionName("openstack", "region-one"), "openstack-controller")
    gatherer = Gatherer(bed.survey, places, clock=clock, deadline=clock.monotonic() + 60, report=pytest.fail)
    with archive.writing(bed.file, "gather", 2000, clock.now()) as written:
        outcome = gatherer.fill(written)
        written.end({})
    assert outcome.late and sum(one["bytes"] for one in bed.manifest()["entries"]) <= 2000
    assert "region/openstackdeployments.jsonl" in {one["path"] for one in bed.manifest()["entries"]}
    assert "cut: the file is full" in bed.left_out().values()


def test_the_file_is_for_its_owner_and_replaces_none(bed: Bed) -> None:
    assert bed.gather().exit_code == 0
    assert stat.S_IMODE(bed.file.stat().st_mode) == 0o600
    before = bed.file.read_bytes()
    again = bed.gather()
    assert again.exit_code == 2 and "is not overwritten" in again.stderr
    assert bed.file.read_bytes() == before


def test_a_gathering_that_is_broken_off_leaves_no_file(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(bed.survey, "server_version", interrupted)
    assert bed.gather().exit_code != 0
    assert list(bed.directory.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(bed: Bed) -> None:
    found = osctl("gather", "--to", str(bed.directory / "nowhere" / "it.tar.gz"))
    assert found.exit_code == 8 and "cannot be written: No such file or directory" in found.stderr


def test_without_a_region_the_namespace_is_gathered(bed: Bed) -> None:
    bed.kube.delete(OSDPL, "region-one", "openstack")
    assert bed.gather().exit_code == 6
    found = bed.gather("-n", "openstack")
    assert found.exit_code == 0, found.output
    assert "openstack/pods.jsonl" in bed.entries()


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("password", "abc", MARK),
        ("rabbit_password", 12345678, MARK),
        ("fixed_key", "0123", MARK),
        ("credentialsSecret", "my-login", "my-login"),
        ("enabled_password_policy", True, True),
        ("connection", "mysql://nova:pw@db/nova", f"mysql://nova:{MARK}@db/nova"),
        ("note", "token: abc def", f"token: {MARK}"),
        ("note", "the token was refused", "the token was refused"),
        ("password", "", ""),
        ("tokens", ["a"], ["a"]),
        ("token", ["a"], [MARK]),
    ],
)
def test_a_secret_goes_by_its_name_or_shape(name: str, value: Any, shown: Any) -> None:
    mask = Mask(Redactor(), ["fixed_key", "connection"])
    assert mask.of({name: value}) == {name: shown}
