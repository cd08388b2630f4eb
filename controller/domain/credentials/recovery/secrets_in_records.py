"""Content of lost Secrets in the records of releases.

Pure. Helm stores the values of a release. If a record has the present values of the spec, each text at the
place of a `$secretRef` is the content of that Secret. Any other record may have had something else there, and
proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from controller.domain.values.chart_values import SECRET_REF, DocumentPath, Values, is_secret_ref
from controller.domain.values.option_files import OptionFiles, from_option_value

# A key of a Secret: names of both.
SecretKey = tuple[str, str]


class _Differs(Exception):
    """The record has other values."""


def recorded_texts(
    asked: Values, given: Values, files: OptionFiles
) -> Mapping[SecretKey, frozenset[str]] | None:
    """The texts in `given` where `asked` refers to Secrets; None if they differ in anything else."""
    found: dict[SecretKey, set[str]] = {}
    try:
        for key, text in _pairs(asked, given, (), files):
            found.setdefault(key, set()).add(text)
    except _Differs:
        return None
    return {key: frozenset(texts) for key, texts in found.items()}


def agreed_texts(records: Iterable[Mapping[SecretKey, frozenset[str]]]) -> dict[SecretKey, str]:
    """The text of each key, if all records with the key have the same."""
    found: dict[SecretKey, set[str]] = {}
    for record in records:
        for key, texts in record.items():
            found.setdefault(key, set()).update(texts)
    return {key: next(iter(texts)) for key, texts in found.items() if len(texts) == 1}


def _pairs(asked: Any, given: Any, path: DocumentPath, files: OptionFiles) -> Iterator[tuple[SecretKey, str]]:
    if is_secret_ref(asked):
        target = asked[SECRET_REF]
        if not isinstance(given, str) or not given:
            raise _Differs
        prefix = target.get("prefix")
        if prefix is not None:
            if not given.startswith(prefix):
                raise _Differs
            given = given.removeprefix(prefix)
            if not given:
                return  # the Secret had no such key
        yield (target["name"], target["key"]), from_option_value(given) if files.has(path) else given
    elif isinstance(asked, Mapping) and isinstance(given, Mapping):
        # A null removes a chart value, and Helm need not record it.
        ours = {key for key, value in asked.items() if value is not None}
        if ours != {key for key, value in given.items() if value is not None}:
            raise _Differs
        for key in sorted(ours):
            yield from _pairs(asked[key], given[key], (*path, str(key)), files)
    elif isinstance(asked, list | tuple) and isinstance(given, list | tuple) and len(asked) == len(given):
        for index, (one, other) in enumerate(zip(asked, given, strict=True)):
            yield from _pairs(one, other, (*path, index), files)
    elif asked != given:
        raise _Differs
