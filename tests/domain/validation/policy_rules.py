"""Rules of policies that oslo.policy reads, and others that it does not, with what is reported of them."""

from __future__ import annotations

from collections.abc import Mapping

READ = (
    "",
    "@",
    "!",
    "role:admin",
    "role:admin or role:operator",
    "not role:reader",
    "NOT role:reader AND rule:owner",
    "not not role:reader",
    "(role:admin and system_scope:all) or project_id:%(project_id)s",
    "((role:member and project_id:%(project_id)s))",
    "role:a or role:b and role:c or not (role:d or role:e)",
    "'member':%(role.name)s",
    "http://policies.example.org/check",
    "field:networks:shared=True",
)
REFUSED: Mapping[str, str] = {
    " ": "ends without the last check",
    "role:admin or": "ends without the last check",
    "not": "ends without the last check",
    "admin": '"admin" is not a check: a colon is missing',
    "role:admin or operator": '"operator" is not a check: a colon is missing',
    "role:admin role:operator": 'lacks "and" or "or" before "role:operator"',
    "role:admin, role:operator": 'lacks "and" or "or" before "role:operator"',
    "role:admin || role:operator": 'lacks "and" or "or" before "||"',
    "role:admin not role:reader": 'lacks "and" or "or" before "not"',
    "or role:admin": 'lacks a check before "or"',
    "()": 'lacks a check before ")"',
    "(role:admin or role:operator": 'has a "(" without a ")"',
    "role:admin)": 'has a ")" without a "("',
    "tenant_id:%(tenant_id)": 'has a ")" without a "("',
    '"role:admin"': '"role:admin" is in quotation marks',
}
