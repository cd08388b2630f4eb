"""Translates errors of openstacksdk, without their texts, which quote requests."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from controller.errors import CloudUnavailable, CredentialsDenied

# Errors of libraries for unexpected input: a value of another type, an incomplete answer.
STUMBLED = (ValueError, LookupError, TypeError, AttributeError, RuntimeError, OSError)


class NoEndpoint(Exception):
    """The catalogue of the login has no endpoint of the service."""


@contextlib.contextmanager
def told_as_unavailable(what: str) -> Iterator[None]:
    """What openstacksdk raises becomes CloudUnavailable; NoEndpoint where the catalogue lists no endpoint."""
    import keystoneauth1.exceptions as failures
    from openstack.exceptions import SDKException, ServiceDisabledException

    try:
        yield
    except CloudUnavailable:
        raise
    except (failures.EndpointNotFound, ServiceDisabledException):
        # From the catalogue, and so from Keystone. A failed discovery is NotSupported.
        raise NoEndpoint from None
    except (failures.Unauthorized, failures.http.Forbidden):
        raise CredentialsDenied(f"{what}: the credentials are not accepted") from None
    except failures.http.HttpError as error:
        raise CloudUnavailable(f"{what}: {error.http_status}") from None
    except (failures.ClientException, SDKException) as error:
        # Their texts quote requests; the kind of the failure says enough.
        raise CloudUnavailable(f"{what}: {type(error).__name__}") from None
    except STUMBLED as error:
        # The result of discovery for a truncated answer.
        raise CloudUnavailable(f"{what}: {type(error).__name__}") from None
