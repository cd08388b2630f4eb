"""Secrets that the controller reads because a region names them: whether they are there, and fit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from controller.cli.offline.charts import secret_texts
from controller.cli.offline.input_files import InputObject
from controller.cli.offline.region import DEFAULT_NAMESPACE, OfflineRegion
from controller.domain.api.names import AUTHORITY_TYPE
from controller.domain.credentials.certificate_secrets import read_authority
from controller.domain.credentials.x509.read import AuthorityUnusable
from controller.domain.validation.dangling import Made
from controller.domain.validation.operator_secrets import TLS_TYPE, OperatorSecret, operator_secrets
from controller.errors import Problem
from controller.ports.kubernetes import SECRET, KubeObject


def secret_warnings(region: OfflineRegion, given: Sequence[InputObject], now: float) -> Iterator[Problem]:
    """A warning for each Secret of the files that is not what the field that names it needs."""
    where = region.deployment.namespace
    there = {item.name: item.obj for item in given if item.kind == SECRET.kind and _is_in(item, where)}
    for one in operator_secrets(region.deployment.document):
        if one.name in there:
            # `certificate_warnings` says what a served certificate lacks.
            yield from faults_of(one, there[one.name], now, of_keys=one.type != TLS_TYPE)


def faults_of(one: OperatorSecret, secret: KubeObject, now: float, *, of_keys: bool) -> Iterator[Problem]:
    """What is wrong with the Secret that has this name; of its keys only if that is asked."""
    texts, type_ = dict(secret_texts(secret)), str(secret.get("type") or "")
    if fault := one.type_fault(type_):
        remedy = "delete it and create it again, because Kubernetes changes no type"
        yield Problem(one.path, fault, remedy)
    elif of_keys and (fault := one.key_fault(texts)):
        yield Problem(one.path, fault, "add what is missing, or correct the field")
    elif one.type == AUTHORITY_TYPE:
        try:
            read_authority(type_, texts, now)
        except AuthorityUnusable as error:
            remedy = f"create it again, as {one.description}"
            yield Problem(one.path, f"Secret {one.name} cannot sign: {error}", remedy)


def missing_secrets(region: OfflineRegion, there: Made, told: Collection[str]) -> Iterator[Problem]:
    """Those to create; `told` are names of Secrets that are reported already."""
    for one in operator_secrets(region.deployment.document):
        if (SECRET.kind, one.name) not in there.keys and one.name not in told:
            text = f"{one.description} is not created by a release, but the controller needs it"
            command = one.command.replace("{namespace}", region.deployment.namespace)
            yield Problem(one.path, text, f"create it: {command}")


def _is_in(item: InputObject, namespace: str) -> bool:
    return bool(item.name) and namespace == (
        item.obj["metadata"].get("namespace") or namespace or DEFAULT_NAMESPACE
    )
