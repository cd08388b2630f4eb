"""The files of a release: what a person installs from them, and how a person checks them."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from sandbox.image.debian import lacking
from sandbox.patience import patient
from tests.helm_program import Chart
from tools.chart_readme import BEGIN, END, values_table
from tools.release.chart import write_chart
from tools.release.checksums import sign, write_sums
from tools.release.source import CHART, ReleaseError, copy_source, refuse_version
from tools.release.wheel import write_helm, write_wheel

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
EPOCH = 1_700_000_000
EXAMPLE = ROOT / CHART / "examples" / "core-single.yaml"


@dataclass(frozen=True)
class Release:
    """The directory of its files, and the digest of the chart's OCI manifest."""

    directory: Path
    chart_digest: str

    def file(self, pattern: str) -> Path:
        [found] = self.directory.glob(pattern)
        return found


def _made(directory: Path) -> Release:
    """All parts that need neither root nor a registry."""
    source, target = directory / "source", directory / "release"
    target.mkdir()
    copy_source(ROOT, source, EPOCH)
    write_wheel(source, target, EPOCH)
    write_helm(target, VERSION)
    digest = write_chart(source / CHART, target, EPOCH)
    write_sums(target)
    return Release(target, digest)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return _made(tmp_path_factory.mktemp("made"))


def _run(*command: str | Path, cwd: Path, given: str = "", **environment: str) -> str:
    words = [str(word) for word in command]
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(cwd), "LANG": "C.UTF-8", **environment}
    done = subprocess.run(
        words,
        cwd=cwd,
        env=clean,
        input=given,
        capture_output=True,
        text=True,
        timeout=patient(300),
        check=False,
    )
    assert done.returncode == 0, f"{words}: {done.stdout[-1000:]}{done.stderr[-2000:]}"
    return done.stdout


def _environment(place: Path) -> Path:
    """The Python of a new virtual environment, without pip: that of this Python installs into it."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True, timeout=patient(120))
    return place / "bin" / "python"


def _install(python: Path, *arguments: str | Path, **environment: str) -> None:
    command = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", *arguments]
    _run(*command, cwd=python.parent, **environment)


@pytest.fixture(scope="module")
def osctl(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program from the wheel, in an environment of its own with the dependencies of this one."""
    place = tmp_path_factory.mktemp("installed")
    python = _environment(place / "venv")
    # By a .pth file. Those that lie at its path are not read, so nothing finds our checkout.
    [packages] = place.glob("venv/lib/python*/site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    _install(python, "--no-deps", "--no-index", release.file("*.whl"))
    found = _run(python, "-c", "import controller; print(controller.__path__[0])", cwd=place)
    assert found.startswith(str(place))
    return python.with_name("osctl")


def _uses_osctl(osctl: Path, place: Path, helm: Path) -> None:
    region = place / "region.yaml"
    region.write_bytes(EXAMPLE.read_bytes())
    assert "is valid: " in _run(osctl, "validate", region, cwd=place)
    rendered = [one for one in yaml.safe_load_all(_run(osctl, "render", region, cwd=place)) if one]
    assert {one["kind"] for one in rendered} == {"HelmBundle"}
    manifests = _run(osctl, "render", "--manifests", region, cwd=place, HELM_BINARY=str(helm))
    assert "kind: StatefulSet" in manifests


@pytest.mark.slow
def test_the_wheel_gives_osctl_outside_of_a_checkout(release: Release, osctl: Path, tmp_path: Path) -> None:
    _uses_osctl(osctl, tmp_path, release.file("osctl-helm-*"))


@pytest.mark.slow
def test_without_helm_osctl_says_what_lacks(osctl: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [osctl, "render", "--manifests", EXAMPLE],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=patient(120),
        check=False,
    )
    assert done.returncode == 8
    assert "HELM_BINARY" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "values", [{}, {"crds": {"install": False}, "monitoring": {"rules": {"enabled": True}}, "replicas": 2}]
)
@pytest.mark.slow
def test_the_packed_chart_renders_as_the_tree(release: Release, values: dict[str, object]) -> None:
    packed = Chart.load(release.file(f"openstack-controller-{VERSION}.tgz"))
    tree = Chart.load(ROOT / CHART)
    names = {"name": "openstack-controller", "namespace": "openstack-controller"}
    assert packed.render(values, **names) == tree.render(values, **names) != {}


@pytest.mark.slow
def test_the_artefact_is_a_layout_whose_blobs_have_their_digests(release: Release) -> None:
    with tarfile.open(release.file("*-chart-*.oci.tar")) as archive:
        content = {one.name: archive.extractfile(one).read() for one in archive}  # type: ignore[union-attr]
    blobs = {name: data for name, data in content.items() if name.startswith("blobs/sha256/")}
    assert {name: hashlib.sha256(data).hexdigest() for name, data in blobs.items()} == {
        name: name.removeprefix("blobs/sha256/") for name in blobs
    }
    [named] = json.loads(content["index.json"])["manifests"]
    assert named["digest"] == release.chart_digest
    manifest = json.loads(blobs[f"blobs/{named['digest'].replace(':', '/')}"])
    [layer] = manifest["layers"]
    assert layer["mediaType"] == "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
    packed = release.file(f"openstack-controller-{VERSION}.tgz").read_bytes()
    assert blobs[f"blobs/{layer['digest'].replace(':', '/')}"] == packed
    config = json.loads(blobs[f"blobs/{manifest['config']['digest'].replace(':', '/')}"])
    assert (config["name"], config["version"]) == ("openstack-controller", VERSION)


@pytest.mark.slow
def test_the_definitions_are_those_of_the_chart(release: Release) -> None:
    loaded = yaml.safe_load_all(release.file("*-crds-*.yaml").read_text(encoding="utf-8"))
    here = [yaml.safe_load(path.read_text()) for path in sorted((ROOT / CHART / "files/crds").glob("*.yaml"))]
    assert list(loaded) == here != []


@pytest.mark.slow
def test_made_twice_it_has_the_same_digests(release: Release, tmp_path: Path) -> None:
    again = _made(tmp_path)
    assert (again.directory / "SHA256SUMS").read_text() == (release.directory / "SHA256SUMS").read_text()


@pytest.mark.slow
def test_well_known_tools_check_the_files_and_the_signature(release: Release, tmp_path: Path) -> None:
    key, allowed = tmp_path / "key", tmp_path / "allowed"
    _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key, cwd=tmp_path)
    sums = release.directory / "SHA256SUMS"
    sign(sums, key)
    _run("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS", cwd=release.directory)
    allowed.write_text(f"releases {key.with_suffix('.pub').read_text()}")
    verify = ["ssh-keygen", "-Y", "verify", "-f", str(allowed), "-I", "releases", "-n", "file"]
    verify += ["-s", f"{sums}.sig"]
    _run(*verify, cwd=tmp_path, given=sums.read_text())
    other = subprocess.run(
        verify, input=b"other content", capture_output=True, timeout=patient(60), check=False
    )
    assert other.returncode != 0


def test_a_version_that_the_files_do_not_name_is_refused() -> None:
    with pytest.raises(ReleaseError, match=r"pyproject\.toml: version is .*, and the release is to be 99"):
        refuse_version(ROOT, "99")


def test_the_readme_of_the_chart_lists_the_values() -> None:
    page = (ROOT / CHART / "README.md").read_text(encoding="utf-8")
    table = page.partition(BEGIN)[2].partition(END)[0]
    assert table.strip() == values_table((ROOT / CHART / "values.yaml").read_text()).strip(), (
        "run make chart-readme"
    )
    assert f"openstack-controller-{VERSION}.tgz" in page


def test_the_annotations_of_the_chart_name_every_definition() -> None:
    chart = yaml.safe_load((ROOT / CHART / "Chart.yaml").read_text())
    named = yaml.safe_load(chart["annotations"]["artifacthub.io/crds"])
    here = [yaml.safe_load(path.read_text()) for path in (ROOT / CHART / "files/crds").glob("*.yaml")]
    assert {(one["name"], one["kind"], one["version"]) for one in named} == {
        (one["metadata"]["name"], one["spec"]["names"]["kind"], version["name"])
        for one in here
        for version in one["spec"]["versions"]
    }


@pytest.mark.image
@pytest.mark.timeout(3600)
def test_the_whole_release_installs_from_its_files_into_an_empty_environment(tmp_path: Path) -> None:
    """With dependencies from the registry, by the hashes of the release."""
    if reason := lacking():
        pytest.skip(reason)
    tool = ROOT / ".venv" / "release" / "bin" / "cyclonedx-py"
    made = dict(os.environ)
    subprocess.run(["make", tool.relative_to(ROOT)], cwd=ROOT, env=made, check=True, timeout=patient(600))
    files = tmp_path / "release"
    command = [sys.executable, "-m", "tools.release", VERSION, "--uncommitted", "--tool", str(tool)]
    subprocess.run([*command, "--target", str(files)], cwd=ROOT, check=True, timeout=patient(1800))
    _run("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS", cwd=files)
    release = Release(files, "")
    materials = json.loads(release.file("*.cdx.json").read_text())
    kinds = {one["purl"].partition("/")[0] for one in materials["components"]}
    assert kinds == {"pkg:pypi", "pkg:golang", "pkg:deb"}
    with tarfile.open(release.file("*-image-*.oci.tar")) as archive:
        assert "oci-layout" in archive.getnames()
    python = _environment(tmp_path / "venv")
    registry = {
        name: text for name, text in os.environ.items() if name.startswith(("PIP_", "SSL_", "REQUESTS_"))
    }
    _install(python, "--require-hashes", "-r", release.file("*-requirements.txt"), **registry)
    _install(python, "--no-deps", "--no-index", release.file("*.whl"))
    _uses_osctl(python.with_name("osctl"), tmp_path, release.file("osctl-helm-*"))
