"""The states of what the pipeline makes, as the database writes them down."""

from enum import StrEnum


class BuildStatus(StrEnum):
    """Of a passport build: the step that comes next, or how it ended. `domain/builds.py` has their order."""

    DOCUMENTS = "DOCUMENTS"
    SNAPSHOT = "SNAPSHOT"
    COMPILE = "COMPILE"
    SIGN = "SIGN"
    QR = "QR"
    DONE = "DONE"
    STOPPED = "STOPPED"  # until somebody fixes what is listed


class DocumentStatus(StrEnum):
    """Of a version of a document."""

    UPLOADED = "UPLOADED"
    VALIDATED = "VALIDATED"
    REJECTED = "REJECTED"


class SnapshotStatus(StrEnum):
    BUILDING = "BUILDING"
    READY = "READY"
    SEALED = "SEALED"


class RulesStatus(StrEnum):
    """Of a version of a rule package."""

    DRAFT = "DRAFT"
    VALIDATED = "VALIDATED"
    PUBLISHED = "PUBLISHED"
    RETIRED = "RETIRED"


class PassportStatus(StrEnum):
    """Of a passport version."""

    COMPILING = "COMPILING"
    SIGNED = "SIGNED"
    ACTIVE = "ACTIVE"
    SUPERSEDED = "SUPERSEDED"
    REVOKED = "REVOKED"


class EndpointStatus(StrEnum):
    ACTIVE = "ACTIVE"
    DISABLED = "DISABLED"


class DeliveryStatus(StrEnum):
    PENDING = "PENDING"
    DELIVERED = "DELIVERED"
    FAILED = "FAILED"


class Granularity(StrEnum):
    """What a passport is about, in the words of EN 18223."""

    MODEL = "model"
    BATCH = "batch"
    ITEM = "item"


class LifeStatus(StrEnum):
    """What a battery has become since it was made."""

    RE_USED = "re-used"
    REPURPOSED = "repurposed"
    REMANUFACTURED = "remanufactured"
    WASTE = "waste"
    RECYCLED = "recycled"
