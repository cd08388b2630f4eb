"""Names and keys of the Secrets that backups of a region read."""

from __future__ import annotations

# The controller generates this one, unless the spec names another.
PASSPHRASE_SECRET = "region-backup-passphrase"  # noqa: S105 - a name
PASSPHRASE_KEY = "passphrase"  # noqa: S105 - a name
# As the Secret of an ObjectBucketClaim has them.
ACCESS_KEY, SECRET_KEY = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"
AUTHORITY_KEY = "ca.crt"
