"""Forms of names and labels in Kubernetes (k8s.io/apimachinery, util/validation). Pure."""

from __future__ import annotations

import re

_PART = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL = re.compile(_PART)
_SUBDOMAIN = re.compile(rf"{_PART}(\.{_PART})*")
_NAMED = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]+")


def is_label(text: str) -> bool:
    """A name of a namespace: one part of a domain."""
    return len(text) <= 63 and _LABEL.fullmatch(text) is not None


def is_subdomain(text: str) -> bool:
    """A name of most objects, such as a Secret."""
    return len(text) <= 253 and _SUBDOMAIN.fullmatch(text) is not None


def is_label_key(text: str) -> bool:
    """A key of labels, annotations and taints: a name, with a domain before it or without."""
    domain, slash, name = text.rpartition("/")
    right = not slash or is_subdomain(domain)
    return right and len(name) <= 63 and _NAMED.fullmatch(name) is not None


def is_label_value(text: str) -> bool:
    """A value of a label or a taint; the empty one is."""
    return not text or (len(text) <= 63 and _NAMED.fullmatch(text) is not None)


def is_data_key(text: str) -> bool:
    """A key of a Secret or a ConfigMap."""
    return len(text) <= 253 and _DATA_KEY.fullmatch(text) is not None and text not in (".", "..")
