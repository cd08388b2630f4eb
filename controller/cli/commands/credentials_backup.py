"""osctl credentials backup, restore: the irreplaceable Secrets of a region, in one encrypted file."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from controller.adapters.system.clock import SystemClock
from controller.adapters.system.randomness import SystemRandomness
from controller.cli.cluster import Cluster, open_cluster
from controller.cli.exit_codes import ExitCode
from controller.cli.options import Context, Kubeconfig, Namespace
from controller.cli.output import Cell, print_table, stderr, stdout
from controller.domain.api.conditions import timestamp
from controller.domain.api.names import WRITTEN_ANNOTATION
from controller.domain.credentials.backup import (
    RECORD_TYPE,
    Backup,
    Fate,
    KeptSecret,
    RestoreStep,
    backup_of,
    document_of,
    parse_backup,
    plan_restore,
)
from controller.domain.credentials.sealing.sealed_file import LARGEST_FILE, SHORTEST_PASSPHRASE, seal, unseal
from controller.domain.shared.plurals import count
from controller.errors import BackupUnusable, ObjectRefused
from controller.ports.kubernetes import SECRET, KubeObject

File = Annotated[Path, typer.Argument(metavar="FILE", help="The file.", show_default=False)]
PassphraseFile = Annotated[
    Path | None,
    typer.Option(
        "--passphrase-file",
        metavar="FILE",
        help="File with the passphrase, or - for stdin; by default osctl asks for it.",
        show_default=False,
    ),
]
Names = Annotated[
    list[str] | None,
    typer.Option("--secret", metavar="NAME", help="Only this Secret; may be repeated.", show_default=False),
]
Overwrite = Annotated[
    list[str] | None,
    typer.Option(
        "--overwrite",
        metavar="NAME",
        help="Overwrite this Secret although it differs; may be repeated.",
        show_default=False,
    ),
]
_LONGEST_PASSPHRASE = 4096
_STYLES = {Fate.DIFFERS: "red", Fate.OVERWRITTEN: "yellow", Fate.CREATED: "green", Fate.COMPLETED: "green"}


def backup(
    file: File,
    *,
    passphrase_file: PassphraseFile = None,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Write the irreplaceable Secrets of a region into one encrypted file."""
    if file.exists():
        raise typer.BadParameter(f"{file} exists already, and is not overwritten", param_hint="FILE")
    cluster = open_cluster(kubeconfig, context, namespace)
    place = cluster.namespace if namespace else str(cluster.find_region()["metadata"]["namespace"])
    passphrase = _passphrase(passphrase_file, new=True)
    # Helm's own records are large, and each repeats content of Secrets.
    found = cluster.kube.list(SECRET, place, fields=f"type!={RECORD_TYPE}")
    made = backup_of(place, timestamp(SystemClock().now()), found)
    if not made.secrets:
        raise BackupUnusable(f"namespace {place} has no Secret to back up")
    _write(file, seal(document_of(made), passphrase, SystemRandomness()))
    stdout().print(f"{file}: {count(len(made.secrets), 'Secret')} of namespace {place}")


def restore(
    file: File,
    *,
    names: Names = None,
    overwrite: Overwrite = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    passphrase_file: PassphraseFile = None,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Write the Secrets of a backup into a namespace; different Secrets there stay, unless you name them."""
    cluster = open_cluster(kubeconfig, context, namespace)
    content = _read(file)
    found = _parsed(file, content, _passphrase(passphrase_file, new=False))
    # Not the namespace of the context, because the file names that of the region.
    place = namespace or found.namespace
    chosen = _chosen(found.secrets, names, overwrite)
    there = {one.name: cluster.kube.get(SECRET, one.name, place) for one in chosen}
    live = {name: secret for name, secret in there.items() if secret is not None}
    steps = plan_restore(chosen, live, overwrite or ())
    rows = [
        (step.secret.name, Cell(step.fate, _STYLES.get(step.fate, "")), ", ".join(step.keys))
        for step in steps
    ]
    stderr().print(f"backup of namespace {found.namespace}, taken at {found.taken}, into namespace {place}")
    print_table(stdout(), ("SECRET", "RESULT" if not dry_run else "WOULD BE", "KEYS"), rows)
    differing = [step.secret.name for step in steps if step.fate == Fate.DIFFERS]
    if differing:
        _refuse(differing)
    if not dry_run:
        for step in steps:
            _apply(cluster, place, step, live.get(step.secret.name))


def _refuse(differing: Sequence[str]) -> None:
    stderr().print(
        (
            f"nothing was written: {', '.join(differing)} differ from the backup. Leave them out by "
            "naming the others with --secret, or overwrite them with --overwrite NAME (if the type "
            "differs: delete them first)"
        ),
        style="red",
    )
    raise typer.Exit(ExitCode.REFUSED)


def _apply(cluster: Cluster, namespace: str, step: RestoreStep, live: KubeObject | None) -> None:
    """Each write is conditional on the state in the plan. Raises Conflict, ObjectRefused."""
    if step.fate == Fate.SAME:
        return
    try:
        if live is None:
            cluster.kube.create(step.secret.body(namespace))
            return
        data = {key: step.secret.data[key] for key in step.keys}
        meta = {**live["metadata"]}
        if step.fate == Fate.OVERWRITTEN:
            # This is intended, not an edit: the controller records the content again.
            notes = meta.get("annotations") or {}
            meta["annotations"] = {k: text for k, text in notes.items() if k != WRITTEN_ANNOTATION}
        cluster.kube.replace({**live, "metadata": meta, "data": {**(live.get("data") or {}), **data}})
    except ObjectRefused:
        # Its text may quote the object.
        text = f"the API server refuses to write Secret {step.secret.name}"
        raise ObjectRefused(f"{text}; if it is immutable, delete it") from None


def _chosen(
    secrets: Sequence[KeptSecret], names: Collection[str] | None, overwrite: Collection[str] | None
) -> list[KeptSecret]:
    known = {one.name for one in secrets}
    for option, given in (("--secret", names), ("--overwrite", overwrite)):
        unknown = sorted(set(given or ()) - known)
        if unknown:
            raise typer.BadParameter(f"the backup has no Secret {', '.join(unknown)}", param_hint=option)
    return [one for one in secrets if not names or one.name in names]


def _parsed(file: Path, content: bytes, passphrase: str) -> Backup:
    try:
        return parse_backup(unseal(content, passphrase))
    except BackupUnusable as error:
        raise BackupUnusable(f"{file}: {error}") from None


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(LARGEST_FILE + 1)
    except OSError as error:
        raise BackupUnusable(f"{file}: {error.strerror}") from None


def _write(file: Path, content: bytes) -> None:
    """Written completely, readable by its owner only, and never over another file."""
    beside = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            os.link(beside, file)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise BackupUnusable(f"{file} cannot be written: {error.strerror}") from None


def _passphrase(file: Path | None, *, new: bool) -> str:
    """Never from the command line, which others can see."""
    hint = "--passphrase-file"
    if file is None:
        if not _has_terminal():
            raise typer.BadParameter(
                "there is no terminal to ask for it; name a file, or - for stdin", param_hint=hint
            )
        try:
            text = str(typer.prompt("Passphrase", hide_input=True, confirmation_prompt=new, err=True))
        except typer.Abort:
            raise typer.Exit(ExitCode.INTERRUPTED) from None
    else:
        text = _first_line(file)
    if new and len(text) < SHORTEST_PASSPHRASE:
        raise typer.BadParameter(
            f"the passphrase needs {SHORTEST_PASSPHRASE} characters or more", param_hint=hint
        )
    return text


def _has_terminal() -> bool:
    return sys.stdin.isatty()


def _first_line(file: Path) -> str:
    try:
        stream: Any = sys.stdin if str(file) == "-" else file.open(encoding="utf-8")
        text = str(stream.readline(_LONGEST_PASSPHRASE))
    except (OSError, UnicodeDecodeError):
        raise typer.BadParameter("the file cannot be read", param_hint="--passphrase-file") from None
    return text.rstrip("\r\n")
