# Everything a fresh machine needs: Python 3.11 or newer and make. See README.md.
PYTHON ?= python3
# Of `make soak`: how long, and what all is drawn from (any number; a new one each time by default).
MINUTES ?= 30
SEED ?=
# Of `make pins`, `make test-upstream`, `make demo-real` and `make test-real`: a checkout of openstack/openstack-helm; for the first
# tests also archives of its charts.
CHARTS ?=
# Of `make demo-real`: the version of OpenStack (2025.1 by default).
SERIES ?=
# Of `make test-real-upgrade`: the versions one after the other, with blanks (2025.1 and 2026.1 by default).
UPGRADE_PATH ?=
# Of `make demo-real`: anything, for servers that boot.
BOOTS ?=
# Of `make release`: the version, which the files already name; an SSH key that signs; the address that the
# files will have, for krew; `IMAGE=no` where there is no root.
VERSION ?=
KEY ?=
ADDRESS ?=
IMAGE ?=
UPSTREAM_REPORT ?= $(VENV)/upstream.md
# Of `make pins`: the commit that values are written for, and the one before it (as it is, by default).
PINNED ?= HEAD
PREVIOUS ?=
# Of `make pins`: a checkout of openstack/openstack-helm-images (what is published, as it is recorded, by default).
IMAGES ?=
# Of `make test-changed`: the commit since which files have changed.
BASE ?= main
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
RELEASE_TOOL := $(VENV)/release/bin/cyclonedx-py
# Compiled modules are kept, and not in the source tree; what pip installs has its own beside it.
export PYTHONPYCACHEPREFIX = $(abspath $(VENV))/pycache
# Not even where the environment says otherwise (images of containers do): to compile everything takes ten
# seconds in each process of pytest. Empty is off.
export PYTHONDONTWRITEBYTECODE =

.PHONY: help setup helm helm-newer demo demo-real demo-down test test-changed test-fast test-servers test-cluster test-sample test-openstack test-image test-real test-real-upgrade image release chart-readme test-exhaustive test-upstream lint docs lock rbac pins previous-build options service schemas bench soak clean

help: ## what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) $(BIN)/helm ## the virtual environment with everything pinned, and Helm

helm: $(BIN)/helm ## Helm's program, built from its pinned Go module

$(BIN)/helm: $(READY) helm/go.mod helm/go.sum $(wildcard helm/*.go)
	@$(BIN)/python -m sandbox helm >/dev/null

helm-newer: $(READY) ## whether a newer Helm than the pinned one is out (asks Go's module proxy)
	@$(BIN)/python -m sandbox helm --newer

$(READY): requirements-dev.lock pyproject.toml
	@# A directory alone may be what was left when its making was interrupted.
	@$(BIN)/python -m pip --version >/dev/null 2>&1 \
	  || { echo "setting up $(VENV)"; rm -rf "$(VENV)"; $(PYTHON) -m venv "$(VENV)"; }
	@env -u PYTHONPYCACHEPREFIX $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@env -u PYTHONPYCACHEPREFIX $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: setup ## a region from one resource on a real Kubernetes, on this machine
	@$(BIN)/python -m sandbox demo

demo-real: setup ## the same with pods that run, on a real node (Linux, root); of SERIES, with the charts of CHARTS; servers that boot with BOOTS
	@$(BIN)/python -m sandbox demo --real $(if $(SERIES),--series "$(SERIES)") $(if $(CHARTS),--charts "$(CHARTS)") \
	  $(if $(BOOTS),--boots)

demo-down: setup ## removes every process and file of the demos
	@$(BIN)/python -m sandbox demo-down

test: lint test-fast test-servers $(if $(CHARTS),test-upstream) ## the daily tests

# Two processes of about the same length. Workers of pytest-xdist would each collect all tests, and report every
# single one to a third process: half as much again.
FAST_HALF := tests/reconcile tests/cli tests/charts_controller tests/charts
FAST := $(BIN)/python -m pytest -q -n 0 -m "not cluster and not slow and not exhaustive and not real and not upstream and not openstack and not image"

test-fast: setup ## those that need no servers
	@printed=$$(mktemp); $(FAST) $(FAST_HALF) >"$$printed" 2>&1 & half=$$!; \
	  trap 'kill $$half 2>/dev/null; rm -f "$$printed"' EXIT; \
	  $(FAST) $(FAST_HALF:%=--ignore=%) tests; status=$$?; \
	  wait $$half || status=$$?; cat "$$printed"; exit $$status

test-changed: setup ## of those, what knows of the files that differ from BASE, by imports; for the inner loop
	@$(BIN)/python -m tests.changed $(BASE)

# Workers by cores and memory, the longest groups first (tests/order.py).
SHARED_MACHINE := -n auto --dist loadgroup --no-loadscope-reorder
# Those that need no server, beside the workers: each of these would import all of them, too. Those of the charts run
# scripts, and wait for them.
SLOW := $(BIN)/python -m pytest -q -n 0 -m "slow and not cluster and not exhaustive and not openstack and not image and not upstream"
BESIDE_SLOW = printed=$$(mktemp -d); $(SLOW) tests/charts >"$$printed/charts" 2>&1 & charts=$$!; \
	  $(SLOW) --ignore=tests/charts tests >"$$printed/others" 2>&1 & others=$$!; \
	  trap 'kill $$charts $$others 2>/dev/null; rm -rf "$$printed"' EXIT; $(1); status=$$?; \
	  for one in $$charts $$others; do wait $$one || status=$$?; done; cat "$$printed"/*; exit $$status

test-servers: setup ## the next two beside each other: much of both is waiting
	@$(BIN)/python -m sandbox build
	@# Minutes, once: not to count in a test's own time.
	@if $(BIN)/python -m sandbox openstack prepare; then sample="or sample"; \
	  else echo "no OpenStack here: its tests are left out"; fi; \
	  $(call BESIDE_SLOW,$(BIN)/python -m pytest -q $(SHARED_MACHINE) \
	  -m "not exhaustive and not image and not upstream and ((cluster and not openstack) $$sample)")

test-cluster: setup ## with a real Kubernetes control plane on loopback
	@$(BIN)/python -m sandbox build
	@$(call BESIDE_SLOW,$(BIN)/python -m pytest -q $(SHARED_MACHINE) \
	  -m "cluster and not exhaustive and not openstack and not image and not upstream")

test-sample: setup ## a maintenance with a real OpenStack on loopback, where this machine can have one
	@$(BIN)/python -m sandbox build
	@if $(BIN)/python -m sandbox openstack prepare; then $(BIN)/python -m pytest -q -m "sample and not exhaustive"; \
	  else echo "no OpenStack here: its tests are left out"; fi

test-openstack: setup ## more of that, with faults and kills (needs Debian's MariaDB and RabbitMQ)
	@$(BIN)/python -m sandbox build
	@# Minutes, once: not to count in a test's own time.
	@$(BIN)/python -m sandbox openstack prepare
	@$(BIN)/python -m pytest -q -m "openstack and not exhaustive" tests/openstack

test-image: setup ## the image as the Dockerfile says, on Debian 12 and 13 (root): a region Ready by its processes
	@$(BIN)/python -m sandbox build
	@# Minutes, once: not to count in a test's own time.
	@$(BIN)/python -m sandbox image
	@$(BIN)/python -m pytest -q -m image tests/image

test-real: setup ## pods that run, on a real node (Linux, root; Debian's packages); with CHARTS also OpenStack-Helm's
	@$(BIN)/python -m sandbox build
	@CHARTS="$(CHARTS)" $(BIN)/python -m pytest -q -n 0 -m real tests/real

test-real-upgrade: setup ## an upgrade of OpenStack with pods that run, on a real node (Linux, root; Debian's packages)
	@$(BIN)/python -m sandbox build
	@OSCTL_REAL_UPGRADE_PATH="$(UPGRADE_PATH)" $(BIN)/python -m pytest -q -n 0 -m real tests/real_upgrade

image: setup ## the controller's image as an OCI archive, without Docker (root on Debian)
	@$(BIN)/python -m sandbox image --archive openstack-controller.tar

release: setup $(RELEASE_TOOL) ## the files of release VERSION in build/release; signed with the SSH key KEY; IMAGE=no: no image
	@test -n "$(VERSION)" || { echo "VERSION=<version of pyproject.toml> is missing"; exit 2; }
	@$(BIN)/python -m tools.release "$(VERSION)" --tool $(RELEASE_TOOL) $(if $(KEY),--key "$(KEY)") $(if $(ADDRESS),--address "$(ADDRESS)") \
	  $(if $(filter no,$(IMAGE)),--without-image)

$(RELEASE_TOOL): requirements-release.lock
	@$(PYTHON) -m venv $(VENV)/release
	@env -u PYTHONPYCACHEPREFIX $(VENV)/release/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

chart-readme: setup ## writes the table of values into the README of our chart
	@$(BIN)/python -m tools.chart_readme

test-upstream: setup ## OpenStack-Helm's own charts, from CHARTS: rendered, and installed; report in $(UPSTREAM_REPORT)
	@test -d "$(CHARTS)" || { echo "CHARTS=$(CHARTS) is no directory: git clone https://opendev.org/openstack/openstack-helm,"; \
	  echo "then CHARTS=<where it lies>; or a directory with archives of its charts"; exit 2; }
	@$(BIN)/python -m sandbox build
	@CHARTS="$(CHARTS)" UPSTREAM_REPORT="$(UPSTREAM_REPORT)" $(BIN)/python -m pytest -q -n 2 --dist loadgroup -m upstream tests/upstream; \
	  status=$$?; echo "report: $(UPSTREAM_REPORT)"; exit $$status

test-exhaustive: setup ## the long sweeps
	@$(BIN)/python -m sandbox build
	@$(BIN)/python -m sandbox openstack prepare
	@$(BIN)/python -m sandbox openstack prepare --series 2026.1
	@$(BIN)/python -m pytest -q -n 2 --dist loadgroup -m "exhaustive and not openstack"
	@# One after the other: they share one cloud.
	@$(BIN)/python -m pytest -q -m openstack tests/openstack
	@OPENSTACK_SERIES=2026.1 $(BIN)/python -m pytest -q -m openstack tests/openstack
	@HYPOTHESIS_PROFILE=searching $(BIN)/python -m pytest -q -n 2 -m hypothesis

lint: setup ## style, types, layering and the language of the pages
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/deptry controller containers
	@$(BIN)/python -m tools.shell
	@$(BIN)/python -m tools.prose
	@$(BIN)/python -m tools.prose_code
	@$(BIN)/python -m tools.test_bodies

docs: setup ## the documentation as a site in build/site, with every link checked
	@test -x $(VENV)/docs/bin/zensical && test $(VENV)/docs/bin/zensical -nt requirements-docs.lock \
	  || { $(PYTHON) -m venv $(VENV)/docs && env -u PYTHONPYCACHEPREFIX $(VENV)/docs/bin/python -m pip install --quiet \
	  --disable-pip-version-check --require-hashes -r requirements-docs.lock && touch $(VENV)/docs/bin/zensical; }
	@$(BIN)/python -m tools.docs_site build/site-source
	@$(VENV)/docs/bin/zensical build --clean --strict --config-file mkdocs.yml

lock: ## renews the lock files from pyproject.toml (needs uv)
	uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 \
	  pyproject.toml -o requirements.lock
	uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 \
	  --group dev pyproject.toml -o requirements-dev.lock
	uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 \
	  --group docs -o requirements-docs.lock
	uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 \
	  --group release -o requirements-release.lock

rbac: setup ## writes what charts grant into the rights of our own chart; CHARTS=… renders OpenStack-Helm's again
	@$(BIN)/python -m tools.chart_objects $(CHARTS)
	@$(BIN)/python -m tools.rights_table

refusals: setup ## writes docs/reference-refusals.md from the list of rules about the spec
	@$(BIN)/python -m tools.refusals

pins: setup ## writes values/charts/ from CHARTS, a checkout with its history, at the commits PINNED and PREVIOUS
	@test -n "$(CHARTS)" || { echo "CHARTS=<checkout of openstack/openstack-helm> is missing"; exit 2; }
	@$(BIN)/python -m tools.pins "$(CHARTS)" --pinned "$(PINNED)" $(if $(PREVIOUS),--previous "$(PREVIOUS)") \
	  $(if $(IMAGES),--images "$(IMAGES)")

previous-build: setup ## writes what the build OF leaves in a cluster, for the test of this one
	@test -n "$(OF)" || { echo "OF=<commit> is missing"; exit 2; }
	@git worktree add --quiet --detach build/previous "$(OF)"
	@cd build/previous && PYTHONPATH="$$PWD" $(abspath $(BIN))/python $(CURDIR)/tools/previous_build.py "$(OF)" \
	  > $(CURDIR)/tests/data/previous-build.json; git -C $(CURDIR) worktree remove --force build/previous

options: setup ## writes names and types of options and rules from OpenStack's packages, and CHARTS
	@test -n "$(CHARTS)" || { echo "CHARTS=<checkout of openstack-helm> is missing"; exit 2; }
	@$(BIN)/python -m tools.known_names
	@$(BIN)/python -m tools.option_defaults
	@$(BIN)/python -m tools.option_facts
	@CHARTS="$(CHARTS)" $(BIN)/python -m tools.upstream_options

service: setup ## writes what CHARTS says into the folder of SERVICE, and lists what its entry lacks
	@test -n "$(SERVICE)" -a -n "$(CHARTS)" || { echo "SERVICE=<service> CHARTS=<checkout of openstack-helm>"; exit 2; }
	@$(BIN)/python -m tools.service "$(SERVICE)" "$(CHARTS)"

schemas: setup ## writes values.schema.json of the lean charts from charts/values-schemas.yaml
	@$(BIN)/python -m tools.value_schemas

bench: setup ## figures against a named baseline of the same run
	@$(BIN)/python -m tests.bench

soak: setup ## random edits, kills and faults for MINUTES, drawn from SEED, and then a check of everything
	@$(BIN)/python -m sandbox build
	@$(BIN)/python -m tests.chaos.soak --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

clean: ## removes the virtual environment
	rm -rf $(VENV)
