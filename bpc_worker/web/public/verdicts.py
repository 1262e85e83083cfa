"""What this server can say of a view, by checking it: signature, every disclosure, completeness, identity."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from bpc_worker.core.base.audience import PUBLIC
from bpc_worker.core.passport.view_check import verify_view
from bpc_worker.core.passport.view_text import Claims, ViewError
from bpc_worker.domain.records import SigningKey
from bpc_worker.domain.signing import key_registry
from bpc_worker.keys.keyring import development_signer
from bpc_worker.web.public.records import Mark, Version


@dataclass(frozen=True, slots=True)
class Verdict:
    mark: Mark
    at: datetime
    why: str = ""  # of a mark that is not good
    is_development: bool = False
    key_id: str | None = None
    claims: Claims | None = None
    fields: Mapping[str, object] = field(default_factory=dict)  # of what was signed, and nothing else


def verdict_on(version: Version, keys: Sequence[SigningKey], at: datetime) -> Verdict:
    try:
        checked = verify_view(
            version.view or "",
            key_registry(keys),
            audience=PUBLIC,
            unique_identifier=version.unique_identifier,
        )
    except ViewError as error:
        return Verdict(Mark.BAD, at, str(error))
    claims, key_id = checked.text.claims, checked.text.key_id
    if claims.passport_version_id != version.passport_version_id:
        return Verdict(Mark.BAD, at, f"it is another version: {claims.passport_version_id}")
    known_to_all = development_signer().public_key
    is_development = any(each.key_id == key_id and each.public_key == known_to_all for each in keys)
    mark = Mark.GREY if is_development else Mark.GOOD
    return Verdict(
        mark, at, is_development=is_development, key_id=key_id, claims=claims, fields=checked.fields
    )
