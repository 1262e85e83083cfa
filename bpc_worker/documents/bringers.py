"""Which document would bring a field of the shipped rules, in words; by how its path begins."""

_TABLES = "kept with the passport"
_SHEET = "DATA_SHEET or battery.json"
_PAPER = "DATA_SHEET, or an ATTACHMENT"

# The longest beginning that fits counts.
_BRINGERS = {
    "identity.unique_identifier": f"{_TABLES}: `bpc-worker host add` gives the address it begins with",
    "identity.serial": f"{_TABLES}: `bpc-worker serials add`",
    "identity.model": f"{_TABLES}: `bpc-worker product change`",
    "identity.predecessors": f"{_TABLES}: made from the passport of the battery it was before",
    "registry.commodity_code": f"{_TABLES}: `bpc-worker product change`",
    "registry.": "what the registry answers",
    "operator.": f"{_TABLES}: `bpc-worker operator add`, then `bpc-worker product change`",
    "facility.": f"{_TABLES}: `bpc-worker facility add`, then `bpc-worker product change`",
    "identity.": _SHEET,
    "condition.": _SHEET,
    "manufacturer.": _SHEET,
    "composition.": _SHEET,
    "composition.components": "BOM",
    "composition.part_numbers": "BOM with part numbers",
    "composition.critical_raw_materials": "BOM",
    "composition.renewable": "BOM, or DATA_SHEET",
    "performance.": _SHEET,
    "recycled.": _SHEET,
    "carbon.": "PCF",
    "due_diligence.": "DUE_DILIGENCE",
    "label.": _SHEET,
    "conformity.": _PAPER,
    "waste.": _PAPER,
    "dismantling.": _PAPER,
    "safety.": _PAPER,
    "instructions.": _PAPER,
    "spares.": _SHEET,
    "measured.": "MEASUREMENTS",
}


def brought_by(path: str) -> str | None:
    """None for a path that no shipped rules have."""
    fitting = [beginning for beginning in _BRINGERS if path.startswith(beginning)]
    return _BRINGERS[max(fitting, key=len)] if fitting else None
