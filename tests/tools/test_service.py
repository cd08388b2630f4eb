"""What `make service` reads in a chart, and says of an entry that lacks it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tools.service import lacking, written_files

PRINTED = '{{ include "helm-toolkit.utils.to_oslo_conf" %s | b64enc }}'
CHART: dict[str, Any] = {
    "endpoints": {
        "identity": {"auth": {"admin": {}, "watcher": {}}},
        "oslo_db": {},
        "infra_optim": {},
    }
}


def test_files_of_options_are_those_that_templates_print_so(tmp_path: Path) -> None:
    (tmp_path / "templates" / "etc").mkdir(parents=True)
    lines = (
        "watcher.conf: " + PRINTED % ".Values.conf.watcher",
        "agent.ini: " + PRINTED % "$envAll.Values.conf.agent",
        "ml2_conf.ini: " + PRINTED % "$envAll.Values.conf.plugins.ml2_conf",
        "logging.conf: " + PRINTED % ".Values.conf.logging",
        "api-uwsgi.ini: " + PRINTED % ".Values.conf.watcher_api_uwsgi",
        "policy.yaml: {{ toYaml .Values.conf.policy | b64enc }}",
    )
    (tmp_path / "templates" / "etc" / "configmap.yaml").write_text("\n".join(lines))
    assert written_files(tmp_path) == {"watcher", "agent", "plugins"}


def test_what_an_entry_lacks_is_listed() -> None:
    entry = {
        "charts": {"watcher": {"sources": ["upstream"], "optionFiles": []}},
        "publicEndpoints": {"optimisation": "optimization"},
    }
    assert list(lacking(entry, {"watcher": CHART}, {"watcher": frozenset({"watcher"})})) == [
        "credentials: watcher-password (account watcher of chart watcher)",
        "credentials: database-password (chart watcher has endpoints.oslo_db)",
        "charts.watcher.optionFiles or otherFiles: watcher",
        "publicEndpoints.optimisation: no chart has endpoints.optimisation",
    ]


def test_nothing_is_listed_of_an_entry_that_has_all_of_it() -> None:
    entry = {
        "charts": {
            "watcher": {
                "optionFiles": ["watcher"],
                "optionFolders": {"plugins": {}},
                "otherFiles": {"flat": ["x"]},
            }
        },
        "credentials": {"watcher-password": "password", "database-password": "password"},
        "publicEndpoints": {"infra_optim": "optimization"},
    }
    written = {"watcher": frozenset({"watcher", "plugins", "x"})}
    assert list(lacking(entry, {"watcher": CHART}, written)) == []
