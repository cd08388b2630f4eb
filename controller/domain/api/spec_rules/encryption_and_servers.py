"""Rules about encryption, external servers, and features that name services."""

from __future__ import annotations

from controller.domain.api.spec_rules.rule import refusal, warning

INTERNAL_TLS_NEEDS_UPSTREAM_CHARTS = refusal(
    "internal-tls-needs-upstream-charts",
    "spec.features.tls.internal.enabled",
    "the charts shipped with the controller do not encrypt traffic between services",
    "use an OpenStack-Helm repository in spec.charts, or encrypt in the network of the cluster",
)
DATABASE_WITHOUT_TLS = warning(
    "database-without-tls",
    "spec.features.tls.internal.traffic",
    "the charts of {names} connect to the database without TLS",
    "disable them, or encrypt in the network of the cluster",
)
PUBLIC_CERTIFICATE_UNUSED = refusal(
    "public-certificate-unused",
    "spec.features.tls.public.*",
    'the certificate is unused without service "gateway"',
    'add "gateway" to spec.features.services.enabled, or use the certificate in your own ingress',
)
ISSUER_AUTHORITY_REQUIRED = refusal(
    "issuer-authority-required",
    "spec.features.tls.internal.caSecret",
    "required for endpoints, and not set",
    "name a Secret with the issuer's authority in key ca.crt, and without a private key",
)
ENCRYPTED_TRAFFIC_UNSUPPORTED = refusal(
    "encrypted-traffic-unsupported",
    "spec.features.tls.internal.traffic",
    "the charts of {names} cannot use encrypted {kind}",
    'remove "{kind}", or disable these services',
)
AUTHORITY_WITHOUT_ISSUER = refusal(
    "authority-without-issuer",
    "spec.features.tls.internal.caSecret",
    "needs an issuer, and none is set; without an issuer, clients trust the region's own authority",
    "remove it, or name the ClusterIssuer in spec.features.tls.internal.issuer",
)
ENCRYPTED_DATABASE_UNSUPPORTED = refusal(
    "encrypted-database-unsupported",
    "spec.features.tls.internal.traffic",
    "the charts of {names} cannot use an encrypted database",
    'remove "database", or disable these services',
)
ENCRYPTED_MESSAGING_ALONE = refusal(
    "encrypted-messaging-alone",
    "spec.features.tls.internal.traffic",
    "with messaging but without database, Kubernetes refuses a Job of the chart of keystone",
    'add "database", or remove "messaging"',
)
CLIENT_CERTIFICATES_UNSUPPORTED = refusal(
    "client-certificates-unsupported",
    "spec.features.tls.internal.traffic",
    "{kind}: these builds of the charts of {names} do not support client certificates",
    (
        "use builds of 2026-06-11 or later, name a ClusterIssuer in spec.features.tls.internal.issuer, "
        'or remove "{kind}"'
    ),
)
BROKERS_BESIDE_EXTERNAL = refusal(
    "brokers-beside-external",
    "spec.features.messaging.dedicatedBrokers",
    "the region runs brokers of services, and messaging.external replaces all of them",
    "remove them, or messaging.external",
)
EXTERNAL_PASSWORD_REQUIRED = refusal(
    "external-password-required",
    "spec.features.credentials.*.*",
    "required with {service}.external, and not set",
    "name the Secret and key with the password of {administrator}",
)
EXTERNAL_SERVER_NEEDS_ISSUER = refusal(
    "external-server-needs-issuer",
    "spec.features.tls.internal.traffic",
    "{service}: the region's own authority does not sign certificates for {service}.external",
    'name the ClusterIssuer of its authority in issuer, or remove "{service}"',
)
BACKUP_OF_EXTERNAL_DATABASE = refusal(
    "backup-of-external-database",
    "spec.features.database.backup.enabled",
    "only a database of the region itself can be dumped",
)
DATABASES_APART = refusal(
    "databases-apart",
    "spec.services",
    "endpoints of release {release} are on different servers: {places}",
    "set spec.features.database.external for all, or give all of them the same hosts and port",
)
DATABASE_ENDPOINT_UNREAD = warning(
    "database-endpoint-unread",
    "spec.services.*.*.values.endpoints.*",
    'this build of chart nova ignores the endpoint "{name}"',
    "remove it",
)
FEATURE_SERVICE_UNKNOWN = refusal(
    "feature-service-unknown",
    "spec.features.*",
    'no OpenStack service "{service}" in this region',
    "{suggestion}",
)
FEATURE_SERVICE_UNABLE = refusal(
    "feature-service-unable",
    "spec.features.*",
    'the charts of service "{service}" have no {part}',
    "services that have it: {able}",
)
