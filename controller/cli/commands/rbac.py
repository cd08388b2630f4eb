"""osctl rbac: the rights that a region needs, as values of the controller's chart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.adapters.system.chart_rights_files import ShippedRights, load_rights
from controller.cli.offline.input_files import read_objects
from controller.cli.offline.manifests import offline_helm, render_release
from controller.cli.offline.region import offline_renderer
from controller.cli.options import FileArgument, Filenames, Output, Recursive, files_of
from controller.cli.output import Format, print_data, stderr
from controller.domain.validation.chart_rights import GROUP, Rights, choose_sets
from controller.ports.kubernetes import KubeObject, resource_of

# Releases of any chart contain these kinds, and Helm stores its records as Secrets.
_ALWAYS = ("", "apps", "batch")


def rbac(
    *,
    files: FileArgument = None,
    filenames: Filenames = None,
    recursive: Recursive = False,
    output: Output = Format.YAML,
) -> None:
    """Print the values of the controller's chart that grant exactly the rights that a region needs.

    This renders every release with its hooks, and uses no cluster.
    """
    renderer, helm = offline_renderer(), offline_helm()
    shipped = load_rights(renderer.settings.crds_dir.parent.parent)
    own, upstream = Rights(), Rights()
    kinds: dict[str, set[str]] = {}
    for region in renderer.render_all(read_objects(files_of(files, filenames), recursive=recursive)):
        for bundle in region.region.bundles:
            for release in bundle.releases:
                rendered = render_release(release.spec, renderer.charts, helm)
                made = (*rendered.manifest, *rendered.hooks)
                rights = Rights.of(made, release.spec.namespace)
                own, upstream = (
                    (own | rights, upstream) if release.spec.chart.path else (own, upstream | rights)
                )
                _count(made, kinds, release.spec.name)
    print_data(
        {"rbac": _values(own, upstream, kinds, shipped)}, Format.YAML if output == Format.TABLE else output
    )


def _values(
    own: Rights, upstream: Rights, kinds: Mapping[str, set[str]], shipped: ShippedRights
) -> dict[str, Any]:
    sets, rest = choose_sets(upstream, shipped.sets)
    always = {group: set(shipped.kinds.get(group, ())) for group in _ALWAYS}
    made = {group: always.get(group, set()) | kinds.get(group, set()) for group in (*always, *sorted(kinds))}
    values: dict[str, Any] = {
        "helm": {
            "resources": [{"apiGroup": group, "resources": sorted(names)} for group, names in made.items()]
        },
        "charts": {"rules": own.as_data().get("rules", [])},
        "upstream": {"sets": list(sets)},
    }
    # The charts of the image contain no cluster roles.
    beside = (rest | Rights(cluster_rules=own.cluster_rules)).as_data()
    return {**values, **{f"extra{key[0].upper()}{key[1:]}": entries for key, entries in beside.items()}}


def _count(made: tuple[KubeObject, ...], kinds: dict[str, set[str]], release: str) -> None:
    """Adds the kinds of the objects in the region's namespace, and reports cluster-scoped ones."""
    for obj in made:
        resource = resource_of(obj)
        group = resource.api_version.rpartition("/")[0]
        if resource.namespaced:
            kinds.setdefault(group, set()).add(resource.plural)
        elif group != GROUP:
            name = (obj.get("metadata") or {}).get("name")
            finding = f"release {release} contains the cluster-scoped {resource.kind} {name}"
            stderr().print(f"{finding}: no value grants that", style="yellow")
