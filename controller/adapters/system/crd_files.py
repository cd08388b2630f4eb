"""The definitions of our resources, read from the chart that installs them."""

from __future__ import annotations

from pathlib import Path

import yaml

from controller.domain.validation.definitions.crd_schema import (
    DefinitionInvalid,
    ResourceSchema,
    compile_schema,
)


def load_schema(crds_dir: Path, plural: str) -> ResourceSchema:
    """The schema of a resource of ours, such as `helmbundles`, from the chart's directory of definitions.

    Raises DefinitionInvalid if there is no usable definition of it.
    """
    path = crds_dir / f"{plural}.yaml"
    try:
        crd = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise DefinitionInvalid(f"cannot read the definition of {plural} in {path}: {error}") from error
    return compile_schema(crd)
