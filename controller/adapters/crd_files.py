"""The definitions of our resources, read from the chart that installs them."""

from __future__ import annotations

from pathlib import Path

import yaml

from controller.domain.crd_schema import DefinitionInvalid, ResourceSchema, compile_schema

CONTROLLER_CHART = "openstack-controller"
_FILES = {
    "OpenStackDeployment": "openstackdeployments.yaml",
    "HelmBundle": "helmbundles.yaml",
}


def load_schema(charts_dir: Path, kind: str = "OpenStackDeployment") -> ResourceSchema:
    """The schema of a kind of ours from the directory of charts. Raises DefinitionInvalid."""
    path = charts_dir / CONTROLLER_CHART / "files" / "crds" / _FILES[kind]
    try:
        crd = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise DefinitionInvalid(f"cannot read the definition of {kind} in {path}: {error}") from error
    return compile_schema(crd)
