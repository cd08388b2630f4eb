"""`make test-changed`: the fast tests that know of what changed since a commit, committed or not."""

from __future__ import annotations

import subprocess
import sys

from tests.changed.selection import ROOT, select_tests

# As in the Makefile.
FAST = (
    "not cluster and not slow and not exhaustive and not real and not upstream and not openstack "
    "and not image"
)
NOTHING_COLLECTED = 5


def changed_since(base: str) -> list[str]:
    """Files that differ from where this branch left `base`, and files that git does not know yet."""
    differing = _git("diff", "--name-only", "--no-renames", "-z", "--merge-base", base)
    return differing + _git("ls-files", "--others", "--exclude-standard", "-z")


def main() -> int:
    """The exit code of pytest; 0 when no fast test knows of the change."""
    tests = select_tests(changed_since(sys.argv[1]))
    print(f"{len(tests)} places with tests of what changed since {sys.argv[1]}", flush=True)
    if not tests:
        return 0
    # A few tests are done before two workers have started.
    workers = ("-n", "2") if len(tests) > 10 or tests == ("tests",) else ()
    command = [sys.executable, "-m", "pytest", "-q", *workers, "-m", FAST, *tests]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    return 0 if code == NOTHING_COLLECTED else code


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return [path for path in done.stdout.split("\0") if path]


if __name__ == "__main__":
    sys.exit(main())
