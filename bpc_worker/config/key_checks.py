"""What the settings about keys must be to one another, and what production refuses."""

from base64 import b64decode

from bpc_worker.config.sources import Draft

_SEED, _COMMAND, _PUBLIC, _NAME = (
    "signing.private_key",
    "signing.command",
    "signing.public_key",
    "signing.key_id",
)
_FORMER = "signing.former_keys"
_SEALING = "webhook.sealing_keys"


def check_keys(draft: Draft) -> None:
    """A key and its name go together; production has none that everybody knows."""
    if not draft.failed & {_SEED, _COMMAND, _PUBLIC, _NAME}:
        _check_signer(draft)
    if _PUBLIC not in draft.failed and draft.has(_PUBLIC):
        _check_point(draft)
    _check_former(draft)
    if draft.values["env"] == "prod":
        _refuse_development_keys(draft)


def _check_signer(draft: Draft) -> None:
    if draft.has(_SEED) and draft.has(_COMMAND):
        draft.problems.append(
            f"{draft.whence(_SEED)} and {draft.whence(_COMMAND)}: one of them signs; give only that one"
        )
        return
    holder = _COMMAND if draft.has(_COMMAND) else _SEED
    if draft.has(holder) != draft.has(_NAME):
        have, lacks = (holder, _NAME) if draft.has(holder) else (_NAME, _SEED)
        draft.problems.append(
            f"{draft.whence(have)}: also needs {lacks}; `bpc-worker keys generate` tells both"
        )
    if draft.has(_COMMAND) != draft.has(_PUBLIC):
        have, lacks = (_COMMAND, _PUBLIC) if draft.has(_COMMAND) else (_PUBLIC, _COMMAND)
        draft.problems.append(f"{draft.whence(have)}: also needs {lacks}; docs/keys.md tells both")


def _check_point(draft: Draft) -> None:
    from bpc_worker.core.base.signing import SignatureError, check_public_key

    try:
        check_public_key(b64decode(str(draft.values[_PUBLIC])))
    except SignatureError as error:
        draft.problems.append(f"{draft.whence(_PUBLIC)}: {error}; give the key that the command signs with")


def _check_former(draft: Draft) -> None:
    name, former = draft.values[_NAME], draft.values[_FORMER]
    if isinstance(former, dict) and name in former:
        draft.problems.append(
            f"{draft.whence(_FORMER)}: {name} is the key that signs now; a key id stands for one key"
        )


def _refuse_development_keys(draft: Draft) -> None:
    from bpc_worker.keys.encryption import DEVELOPMENT_SEALING_KEY
    from bpc_worker.keys.keyring import (
        DEVELOPMENT_DISCLOSURE_KEY,
        DEVELOPMENT_KEY_ID,
        DEVELOPMENT_SEED,
        development_signer,
    )

    known = {
        _SEED: DEVELOPMENT_SEED,
        _NAME: DEVELOPMENT_KEY_ID,
        "disclosure.key": DEVELOPMENT_DISCLOSURE_KEY,
    }
    used = [name for name, value in known.items() if draft.values[name] == value]
    if draft.has(_PUBLIC) and _PUBLIC not in draft.failed:
        key = b64decode(str(draft.values[_PUBLIC]))
        used += [_PUBLIC] if key == development_signer().public_key else []
    former = draft.values[_FORMER]
    if isinstance(former, dict) and (DEVELOPMENT_SEED in former.values() or DEVELOPMENT_KEY_ID in former):
        used.append(_FORMER)
    sealing = draft.values[_SEALING]
    if isinstance(sealing, dict) and DEVELOPMENT_SEALING_KEY[1] in sealing.values():
        used.append(_SEALING)
    draft.problems += [
        f"{draft.whence(name)}: the development key is known to everybody, and env is prod; choose another"
        for name in used
    ]
