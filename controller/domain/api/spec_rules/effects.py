"""Rules about what reaches nothing, or holds only with something else."""

from __future__ import annotations

from controller.domain.api.spec_rules.rule import warning

FILE_NOT_MOUNTED = warning(
    "file-not-mounted",
    "spec.services.*.*.values.conf.*.*.*",
    "no pod of release {release} has the file {file}",
    "mount it by pod.mounts of the chart, from a Secret or a ConfigMap (docs/values.md, Files for options)",
)
