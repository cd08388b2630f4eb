"""Definitions of the kinds that mirrors are made of, as far as tests need them.

Written from the documentation of machine.openshift.io (v1beta1), Cluster API (cluster.x-k8s.io/v1beta1) and
its OpenStack provider (infrastructure.cluster.x-k8s.io/v1beta1): which fields there are, which are required,
and the bounds, formats and kinds of lists that an API server holds objects to.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
SOME: Schema = {"type": "string", "minLength": 1}
UUID: Schema = {"type": "string", "format": "uuid"}
WHOLE: Schema = {"type": "integer", "format": "int32"}
COUNT: Schema = {"type": "integer", "minimum": 1}
FLAG: Schema = {"type": "boolean"}
ANYTHING: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
TEXTS_BY_NAME: Schema = {"type": "object", "additionalProperties": TEXT}
CONDITION: Schema = {
    "type": "object",
    "required": ["type", "status"],
    "properties": {
        **dict.fromkeys(("type", "status", "severity", "reason", "message", "lastTransitionTime"), TEXT),
        "observedGeneration": {"type": "integer"},
    },
}


def record(*required: str, exactly_one: bool = False, some: bool = False, **properties: Schema) -> Schema:
    found: Schema = {"type": "object", "properties": properties}
    if required:
        found["required"] = list(required)
    if exactly_one or some:
        found["minProperties"] = 1
    if exactly_one:
        found["maxProperties"] = 1
    return found


def plain(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def each_once(items: Schema) -> Schema:
    return {**plain(items), "x-kubernetes-list-type": "set"}


def by(key: str, items: Schema) -> Schema:
    return {**plain(items), "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]}


CONDITIONS = by("type", CONDITION)
SELECTOR = record(
    matchLabels=TEXTS_BY_NAME,
    matchExpressions=plain(record("key", "operator", key=TEXT, operator=TEXT, values=plain(TEXT))),
)
MARKS = record(labels=TEXTS_BY_NAME, annotations=TEXTS_BY_NAME)
POLICY: Schema = {"type": "string", "enum": ["Random", "Newest", "Oldest"]}
COUNTS = dict.fromkeys(("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"), WHOLE)
GENERATION: Schema = {"type": "integer", "format": "int64"}
SIDE: Schema = {"type": "string", "enum": ["MachineAPI", "ClusterAPI"]}

SOURCE_SPEC = record(
    "selector",
    replicas={**WHOLE, "default": 1},
    minReadySeconds=WHOLE,
    deletePolicy=POLICY,
    selector=SELECTOR,
    template=ANYTHING,
    authoritativeAPI={**SIDE, "default": "MachineAPI"},
)
SOURCE_STATUS = {
    **record(
        **COUNTS,
        observedGeneration=GENERATION,
        errorReason=TEXT,
        errorMessage=TEXT,
        conditions=CONDITIONS,
        authoritativeAPI={
            "type": "string",
            "enum": ["MachineAPI", "ClusterAPI", "Migrating"],
            "x-kubernetes-validations": [
                {
                    "rule": "self == 'Migrating' || self == oldSelf || oldSelf == 'Migrating'",
                    "message": "authority goes over by Migrating",
                }
            ],
        },
        synchronizedAPI=SIDE,
        synchronizedGeneration={**GENERATION, "minimum": 0},
    ),
    "x-kubernetes-validations": [
        {
            "rule": "!has(oldSelf.synchronizedGeneration) || (has(self.synchronizedGeneration)"
            " && self.synchronizedGeneration >= oldSelf.synchronizedGeneration)"
            " || (oldSelf.authoritativeAPI == 'Migrating' && self.authoritativeAPI != 'Migrating')",
            "message": "the synchronized generation does not go back",
        },
        {
            "rule": "has(self.authoritativeAPI) || !has(oldSelf.authoritativeAPI)",
            "message": "somebody stays in charge",
        },
    ],
}
REFERENCE = record(apiVersion=TEXT, kind=TEXT, name=TEXT, namespace=TEXT)
CLUSTER_NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 63}
MIRROR_SPEC = record(
    "clusterName",
    "selector",
    clusterName=CLUSTER_NAME,
    replicas=WHOLE,
    minReadySeconds=WHOLE,
    deletePolicy=POLICY,
    selector=SELECTOR,
    template=record(
        metadata=MARKS,
        spec=record(
            *("bootstrap", "clusterName", "infrastructureRef"),
            bootstrap=record(dataSecretName=TEXT, configRef=REFERENCE),
            clusterName=CLUSTER_NAME,
            infrastructureRef=REFERENCE,
            failureDomain={"type": "string", "minLength": 1, "maxLength": 256},
            version=TEXT,
        ),
    ),
)
MIRROR_STATUS = record(
    **COUNTS,
    selector=TEXT,
    observedGeneration=GENERATION,
    failureReason=TEXT,
    failureMessage=TEXT,
    conditions=plain(CONDITION),
    v1beta2=record(conditions=CONDITIONS),
)
TAG: Schema = {"type": "string", "minLength": 1, "pattern": "^[^,]+$"}
TAGS = dict.fromkeys(("tags", "tagsAny", "notTags", "notTagsAny"), each_once(TAG))
NAMED = {"name": TEXT, "description": TEXT, "projectID": TEXT, **TAGS}
NETWORK = record(exactly_one=True, id=UUID, filter=record(some=True, **NAMED))
SUBNET = record(
    exactly_one=True,
    id=UUID,
    filter=record(
        some=True,
        **NAMED,
        ipVersion={"type": "integer"},
        **dict.fromkeys(("gatewayIP", "cidr", "ipv6AddressMode", "ipv6RAMode"), TEXT),
    ),
)
GROUP = record(exactly_one=True, id=UUID, filter=record(some=True, **NAMED))
PORT = record(
    network=NETWORK,
    nameSuffix=TEXT,
    description=TEXT,
    fixedIPs={**plain(record(subnet=SUBNET, ipAddress=TEXT)), "x-kubernetes-list-type": "atomic"},
    securityGroups={**plain(GROUP), "x-kubernetes-list-type": "atomic"},
    tags=each_once(TEXT),
    trunk=FLAG,
    adminStateUp=FLAG,
    macAddress=TEXT,
    allowedAddressPairs=plain(record("ipAddress", ipAddress=TEXT, macAddress=TEXT)),
    vnicType=TEXT,
    profile=record(ovsHWOffload=FLAG, trustedVF=FLAG),
    disablePortSecurity=FLAG,
)
ZONE = {
    **record(
        **{
            "from": {"type": "string", "enum": ["Name", "Machine"], "default": "Name"},
            "name": {"type": "string", "minLength": 1, "pattern": "^[^ ]+$"},
        }
    ),
    "x-kubernetes-validations": [
        {
            "rule": "!has(self.from) || self.from == 'Name' ? has(self.name) : !has(self.name)",
            "message": "a name is required for a zone by name, and only there",
        }
    ],
}
VOLUME = {"type": TEXT, "availabilityZone": ZONE}
MACHINE_SPEC = {
    **record(
        "image",
        flavor=SOME,
        flavorID=SOME,
        image=record(exactly_one=True, id=UUID, filter=record(some=True, name=TEXT, tags=each_once(TEXT))),
        sshKeyName=TEXT,
        identityRef=record(
            *("cloudName", "name"),
            type={"type": "string", "default": "Secret"},
            name=SOME,
            cloudName=SOME,
            region=TEXT,
        ),
        ports=plain(PORT),
        securityGroups=plain(GROUP),
        trunk=FLAG,
        tags=each_once(TEXT),
        serverMetadata=by(
            "key",
            record(
                "key",
                "value",
                key={"type": "string", "maxLength": 255},
                value={"type": "string", "maxLength": 255},
            ),
        ),
        configDrive=FLAG,
        rootVolume=record("sizeGiB", sizeGiB=COUNT, **VOLUME),
        additionalBlockDevices=by(
            "name",
            record(
                *("name", "sizeGiB", "storage"),
                name=TEXT,
                sizeGiB=COUNT,
                storage=record("type", type={"type": "string"}, volume=record(**VOLUME)),
            ),
        ),
        serverGroup=record(exactly_one=True, id=UUID, filter=record(some=True, name=TEXT)),
    ),
    "x-kubernetes-validations": [
        {"rule": "has(self.flavor) || has(self.flavorID)", "message": "a flavor is required"}
    ],
}


def definition(group: str, version: str, kind: str, spec: Schema, status: Schema) -> dict[str, Any]:
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{group}",
            # Without it the API server takes no definition of a group under k8s.io.
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
        },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


DEFINITIONS = (
    definition("machine.openshift.io", "v1beta1", "MachineSet", SOURCE_SPEC, SOURCE_STATUS),
    definition("cluster.x-k8s.io", "v1beta1", "MachineSet", MIRROR_SPEC, MIRROR_STATUS),
    definition("cluster.x-k8s.io", "v1beta1", "Cluster", ANYTHING, ANYTHING),
    definition(
        "infrastructure.cluster.x-k8s.io",
        "v1beta1",
        "OpenStackMachineTemplate",
        record("template", template=record("spec", spec=MACHINE_SPEC)),
        ANYTHING,
    ),
)
