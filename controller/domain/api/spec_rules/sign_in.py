"""Rules about sign-in providers: their mappings, and lines for Apache."""

from __future__ import annotations

from controller.domain.api.spec_rules.rule import refusal, warning

ISSUER_TWICE = refusal(
    "issuer-twice",
    "spec.features.identity.federation.providers[*].issuer",
    'is also the issuer of "{provider}"',
    "keep one of them; a mapping may have many rules",
)
METADATA_OF_ANOTHER_ISSUER = refusal(
    "metadata-of-another-issuer",
    "spec.features.identity.federation.providers[*].metadata.issuer",
    "must be {issuer}",
    "copy the answer of {issuer}/.well-known/openid-configuration",
)
DIRECTIVE_LINE_BREAK = refusal(
    "directive-line-break",
    "spec.features.identity.federation.directives[*]",
    "has a line break",
    "write each directive as a separate entry",
)
DIRECTIVE_RESERVED = refusal(
    "directive-reserved",
    "spec.features.identity.federation.directives[*]",
    "{name} is written by the controller",
    "{remedy}",
)
DIRECTIVE_SECRET = refusal(
    "directive-secret",
    "spec.features.identity.federation.directives[*]",
    "{name} is a secret, and would be in plain text in a ConfigMap or an object",
    'mount its Secret into keystone-api, and write {name} "exec:/bin/cat FILE"',
)
MAPPING_WITHOUT_REMOTE = refusal(
    "mapping-without-remote",
    "spec.features.identity.federation.providers[*].mapping[*].remote",
    "must have at least one entry",
    "name a claim, as [{{type: HTTP_OIDC_EMAIL}}]",
)
MAPPING_TYPE = refusal(
    "mapping-type",
    "spec.features.identity.federation.providers[*].mapping[*]",
    "expected {wanted}, got {got}",
)
MAPPING_KEY_UNKNOWN = refusal(
    "mapping-key-unknown",
    "spec.features.identity.federation.providers[*].mapping[*].*",
    'Keystone does not know "{key}" here',
    "{suggestion}",
)
MAPPING_KEY_REQUIRED = refusal(
    "mapping-key-required",
    "spec.features.identity.federation.providers[*].mapping[*].*",
    "required, and not set",
)
MAPPING_CONDITIONS = refusal(
    "mapping-conditions",
    "spec.features.identity.federation.providers[*].mapping[*].remote[*]",
    "is given with {other}, but Keystone accepts only one of them",
    "write a separate entry of the same type for each",
)
MAPPING_REGEX_ALONE = refusal(
    "mapping-regex-alone",
    "spec.features.identity.federation.providers[*].mapping[*].remote[*].regex",
    "needs one of {conditions}",
)
MAPPING_USER_TYPE = refusal(
    "mapping-user-type",
    "spec.features.identity.federation.providers[*].mapping[*].local[*].user.type",
    "must be one of {users}",
)
MAPPING_GROUP = refusal(
    "mapping-group",
    "spec.features.identity.federation.providers[*].mapping[*].local[*].group",
    "must have either an id, or a name and a domain",
    "write it as {{name: federated, domain: {{name: Default}}}}",
)
MAPPING_TEXT_MALFORMED = refusal(
    "mapping-text-malformed",
    "spec.features.identity.federation.providers[*].mapping[*].local[*]",
    "is not a valid text with claims: {error}",
    "double each literal brace: {{{{",
)
MAPPING_CLAIM_UNKNOWN = refusal(
    "mapping-claim-unknown",
    "spec.features.identity.federation.providers[*].mapping[*].local[*]",
    "{{{name}}} is not a claim: there are {claims} in remote",
    "{{0}} is the first one",
)
MAPPING_TYPE_NEVER = warning(
    "mapping-type-never",
    "spec.features.identity.federation.providers[*].mapping[*].remote[*].type",
    "no sign-in has {name}, so the rule never applies: Keystone gets claims under other names",
    "write {right}",
)
CLAIMS_NOT_PASSED = warning(
    "claims-not-passed",
    "spec.features.identity.federation.directives[*]",
    "Keystone gets no claims, and every sign-in fails",
    "remove the line, or write OIDCPassClaimsAs both",
)
DIRECTIVE_UNKNOWN = warning(
    "directive-unknown",
    "spec.features.identity.federation.directives[*]",
    "mod_auth_openidc has no directive {name}, and Apache does not start with an unknown directive",
    "{suggestion}",
)
MAPPING_DOMAIN_ID = warning(
    "mapping-domain-id",
    "spec.features.identity.federation.providers[*].mapping[*].local[*]",
    "no domain has the id Default: Default is the name of the domain, and default is its id",
    "write domain: {{name: Default}}, or domain: {{id: default}}",
)
