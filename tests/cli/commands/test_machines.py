"""osctl machines convert: from a file, without a cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.objects import osctl
from tests.domain.machines.sources import NETWORK, machine_set

CLUSTER = {"set.metadata.labels": {"machine.openshift.io/cluster-api-cluster": "ocp-x7k2p"}}


def written(directory: Path, *sources: dict[str, Any]) -> str:
    file = directory / "sets.yaml"
    file.write_text(yaml.safe_dump_all(sources), encoding="utf-8")
    return str(file)


def test_a_set_becomes_a_paused_set_and_a_template(tmp_path: Path) -> None:
    result = osctl("machines", "convert", written(tmp_path, machine_set(**CLUSTER)))
    assert result.exit_code == 0
    mirror, template = yaml.safe_load_all(result.stdout)
    assert (mirror["apiVersion"], mirror["kind"]) == ("cluster.x-k8s.io/v1beta1", "MachineSet")
    assert mirror["metadata"]["annotations"] == {"cluster.x-k8s.io/paused": ""}
    assert mirror["metadata"]["namespace"] == "openshift-cluster-api"
    assert mirror["spec"]["clusterName"] == "ocp-x7k2p"
    assert template["kind"] == "OpenStackMachineTemplate"
    assert mirror["spec"]["template"]["spec"]["infrastructureRef"]["name"] == template["metadata"]["name"]


def test_options_name_the_cluster_its_namespace_and_its_addresses(tmp_path: Path) -> None:
    file = written(tmp_path, machine_set(**{"provider.networks[0].noAllowedAddressPairs": False}))
    options = (
        "--cluster",
        "c",
        "-n",
        "there",
        "--virtual-address",
        "10.0.0.5",
        "--virtual-address",
        "10.0.0.7",
    )
    result = osctl("machines", "convert", file, *options, "-o", "json")
    assert result.exit_code == 0
    mirror, template = json.loads(result.stdout)["items"]
    assert (mirror["spec"]["clusterName"], mirror["metadata"]["namespace"]) == ("c", "there")
    [port] = template["spec"]["template"]["spec"]["ports"]
    assert port["allowedAddressPairs"] == [{"ipAddress": "10.0.0.5"}, {"ipAddress": "10.0.0.7"}]


def test_each_error_has_its_line_its_path_and_a_remedy(tmp_path: Path) -> None:
    taints = {"machine.spec.taints": [{"key": "gpu"}], "provider.flavour": "m1"}
    file = written(tmp_path, machine_set(**CLUSTER, **taints), machine_set("good", **CLUSTER))
    result = osctl("machines", "convert", file)
    assert (result.exit_code, result.stdout) == (3, "")
    line = Path(file).read_text(encoding="utf-8").splitlines().index("      taints:") + 1
    assert f"{file}:{line}  error: spec.template.spec.taints: cannot be converted" in result.stderr
    assert 'did you mean "flavor"?' in result.stderr
    assert result.stderr.endswith("2 errors\n")


def test_warnings_go_to_stderr_and_stop_nothing(tmp_path: Path) -> None:
    file = written(tmp_path, machine_set(**CLUSTER, **{"provider.sshUserName": "core"}))
    result = osctl("machines", "convert", file)
    assert result.exit_code == 0
    assert "spec.template.spec.providerSpec.value.sshUserName: is not converted" in result.stderr
    assert "sshUserName" not in result.stdout


def test_a_set_that_names_no_cluster_wants_one_named(tmp_path: Path) -> None:
    result = osctl("machines", "convert", written(tmp_path, machine_set()))
    assert result.exit_code == 3
    assert "metadata.labels: has no label machine.openshift.io/cluster-api-cluster" in result.stderr
    assert "--cluster" in result.stderr


def test_other_objects_are_named_and_passed_over(tmp_path: Path) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}
    result = osctl("machines", "convert", written(tmp_path, secret, machine_set(**CLUSTER)))
    assert result.exit_code == 0
    assert "Secret/a: not converted" in result.stderr


def test_files_without_a_set_are_an_error(tmp_path: Path) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}
    result = osctl("machines", "convert", written(tmp_path, secret))
    assert result.exit_code == 3
    assert "no MachineSet of machine.openshift.io/v1beta1 in the files" in result.stderr


@pytest.mark.parametrize("labels", [None, "a", {"machine.openshift.io/cluster-api-cluster": 5}])
def test_labels_of_another_shape_are_an_error(tmp_path: Path, labels: Any) -> None:
    source = machine_set()
    source["metadata"]["labels"] = labels
    assert osctl("machines", "convert", written(tmp_path, source)).exit_code == 3


def test_a_table_is_not_offered(tmp_path: Path) -> None:
    result = osctl("machines", "convert", written(tmp_path, machine_set(**CLUSTER)), "-o", "table")
    assert result.exit_code == 2


def test_one_machine_of_a_set_may_be_had_as_a_server(tmp_path: Path) -> None:
    file = written(tmp_path, machine_set(**CLUSTER), machine_set("workers-b", **CLUSTER))
    result = osctl("machines", "convert", file, "--as-server", "-n", "team")
    assert result.exit_code == 0, result.stderr
    servers = list(yaml.safe_load_all(result.stdout))
    assert [(one["kind"], one["metadata"]) for one in servers] == [
        ("OpenStackServer", {"name": "workers-a", "namespace": "team"}),
        ("OpenStackServer", {"name": "workers-b", "namespace": "team"}),
    ]


def test_what_a_server_cannot_be_is_reported_at_its_set(tmp_path: Path) -> None:
    port = {"networkID": NETWORK, "nameSuffix": "0th"}
    file = written(tmp_path, machine_set(**CLUSTER, **{"provider.ports": [port]}))
    result = osctl("machines", "convert", file, "--as-server")
    assert (result.exit_code, result.stdout) == (3, "")
    assert f"{file}:1  error: spec.ports[1].nameSuffix: of the OpenStackServer:" in result.stderr
