"""Whether the parts of a passport say the same: payload, view, proof and receipt, field by field."""

from collections.abc import Mapping

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.forms import FormError, members, parse_constant, parse_list, parse_uuid, read
from bpc_worker.core.base.hashing import sha256_hex
from bpc_worker.core.passport.compile import PASSPORT_SCHEMA, nested
from bpc_worker.core.passport.receipt import Receipt
from bpc_worker.core.proof.values import same
from bpc_worker.core.proof.verify import VerifiedField, VerifiedProof
from bpc_worker.core.rules import types
from bpc_worker.core.rules.types import Type
from bpc_worker.core.rules.values import Empty

_MEMBERS = ("schema", "passport_id", "battery_product_id", "fields", "compliance")


def check_payload(payload: object, receipt: Receipt, proved: VerifiedProof | None) -> dict[str, object]:
    """The members of a payload that is the receipt's, and says what the proof gives. FormError if not."""
    found = members(payload, _MEMBERS)
    read(found, "schema", parse_constant(PASSPORT_SCHEMA))
    for name, expected in (
        ("passport_id", receipt.passport_id),
        ("battery_product_id", receipt.battery_product_id),
    ):
        if (is_ := read(found, name, parse_uuid)) != expected:
            raise FormError(f"/{name}", f"expected {expected}, found {is_}")
    if proved is not None:
        _check_fields(found["fields"], proved)
        _check_statements(found["compliance"], proved)
    return found


def _check_fields(fields: object, proved: VerifiedProof) -> None:
    values = {path: _at(fields, path) for path in proved.fields}
    for path, value in values.items():
        _check_value(value, proved.fields[path], f"/fields/{path.replace('.', '/')}")
    if not same(fields, nested(values)):
        raise FormError("/fields", "there are other fields than in the proof")


def _check_value(value: object, field: VerifiedField, place: str) -> None:
    try:
        form = value if isinstance(field.value, Empty) else proof_form(value, field.type)
    except FormError as error:
        raise FormError(place, error.reason) from None
    if not same(form, field.form):
        raise FormError(place, f"the field {field.path} is not what the proof gives")


def _at(fields: object, path: str) -> object:
    place = fields
    for name in path.split("."):
        if not isinstance(place, dict) or name not in place:
            raise FormError("/fields", f"the field {path} is missing")
        place = place[name]
    return place


def _check_statements(statements: object, proved: VerifiedProof) -> None:
    expected = [
        {"code": each.code, "holds": each.holds, "message": each.message} for each in proved.statements
    ]
    if not same(statements, expected):
        raise FormError("/compliance", "the statements are not those of the proof")


def check_view_with_proof(view: Mapping[str, object], proved: VerifiedProof) -> None:
    """A verified view shows all that its audience may see, as the proof gives it. FormError if not."""
    leaves, paths = view_leaves(view), sorted(proved.fields)
    expected = [path for path in paths if view["audience"] in proved.fields[path].audiences]
    if [leaf["path"] for leaf in leaves] != expected or view["tree_size"] != len(paths):
        raise FormError("/fields", "it shows other fields than the proof has for its audience")
    for at, leaf in enumerate(leaves):
        field = proved.fields[str(leaf["path"])]
        _check_value(leaf["value"], field, f"/fields/{at}/leaf/value")
        if leaf["audiences"] != list(field.audiences):
            raise FormError(f"/fields/{at}/leaf/audiences", f"the proof has {', '.join(field.audiences)}")


def check_view_with_payload(view: Mapping[str, object], payload: Mapping[str, object]) -> None:
    """A verified view shows what the payload shows. FormError if not."""
    for at, leaf in enumerate(view_leaves(view)):
        if not same(leaf["value"], _at(payload["fields"], str(leaf["path"]))):
            raise FormError(f"/fields/{at}/leaf/value", f"the payload has another {leaf['path']}")


def view_leaves(view: Mapping[str, object]) -> list[dict[str, object]]:
    return read(view, "fields", parse_list(lambda entry: read(members(entry, _ENTRY), "leaf", _leaf)))


def _leaf(value: object) -> dict[str, object]:
    return members(value, ("path", "audiences", "value", "salt"))


_ENTRY = ("leaf", "leaf_index", "inclusion_path")


def proof_form(value: object, kind: Type) -> object:
    """What a proof writes for a value that the payload shows as this: lists by their hash."""
    match kind, value:
        case types.OptType(of), _:
            return None if value is None else proof_form(value, of)
        case types.ListType(of), list():
            items = canonical_json.encode([proof_form(each, of) for each in value])
            return {"count": len(value), "list": sha256_hex(items)}
        case types.MapType(of), dict():
            return {"map": {key: proof_form(each, of) for key, each in value.items()}}
        case types.RecordType(fields), dict():
            kinds = dict(fields)
            return {"map": {key: proof_form(each, kinds.get(key, types.NONE)) for key, each in value.items()}}
        case _:
            return _plain_form(value, kind)


def _plain_form(value: object, kind: Type) -> object:
    match kind, value:
        case types.DecType(), _:
            return {"dec": value}
        case types.QtyType(), {"value": number, "unit": unit, **rest} if not rest:
            return {"qty": number, "unit": unit}
        case types.Simple("Date"), _:
            return {"date": value}
        case types.Simple("Int"), str():
            return {"int": value}
        case _, dict() | list():  # a form of the proof's own must not pass for what it stands for
            raise FormError("", f"a value of type {types.show(kind)} is not written like this")
        case _:
            return value
