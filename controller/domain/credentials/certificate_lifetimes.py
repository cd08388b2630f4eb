"""How long certificates of the region's own authority live, and when they are renewed."""

from __future__ import annotations

DAY = 86400.0
# Renewed after 30 days, which leaves one day more than the threshold of the alert for expiring certificates.
LEAF_LIFE = 45 * DAY
AUTHORITY_LIFE = 3 * 365 * DAY
# Fraction of its life after which there is a new one.
RENEWED_AT = 2 / 3
# A certificate that expires within this time is replaced even if its replacement is not trusted everywhere,
# because pods must restart with it before the end.
LAST_DAYS = 3 * DAY
# Certificates begin before their creation, because clocks of hosts differ.
BACKDATED = 300.0
# A generation that begins later than this after now came from a clock that was ahead.
CLOCK_DIFFERENCE = 3600.0
