"""The audiences of the law: who may see a field of a passport."""

from enum import StrEnum


class Audience(StrEnum):
    """Who may see a field: a set per field, not a ladder; nobody is included in anybody else."""

    PUBLIC = "public"
    LEGITIMATE_INTEREST = "legitimate_interest"
    AUTHORITIES = "authorities"
    COMMISSION = "commission"
