"""What the settings about keys must be to one another, and what production refuses."""

from base64 import b64decode, b64encode

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
    name, former = draft.values[_NAME], draft.values[_FORMER]
    if isinstance(former, dict) and name in former:
        draft.complain(_FORMER, f"{name} is the key that signs now; a key id stands for one key")
    if draft.values["env"] == "prod":
        _refuse_development_keys(draft)


def _check_signer(draft: Draft) -> None:
    if draft.has(_SEED) and draft.has(_COMMAND):
        both = f"{draft.origin(_SEED)} and {draft.origin(_COMMAND)}"
        draft.problems.append(f"{both}: one of them signs; give only that one")
        return
    holder = _COMMAND if draft.has(_COMMAND) else _SEED
    if draft.has(holder) != draft.has(_NAME):
        have, lacks = (holder, _NAME) if draft.has(holder) else (_NAME, _SEED)
        draft.complain(have, f"also needs {lacks}; `bpc-worker keys generate` tells both")
    if draft.has(_COMMAND) != draft.has(_PUBLIC):
        have, lacks = (_COMMAND, _PUBLIC) if draft.has(_COMMAND) else (_PUBLIC, _COMMAND)
        draft.complain(have, f"also needs {lacks}; docs/keys.md tells both")


def _check_point(draft: Draft) -> None:
    from bpc_worker.core.base.signing import SignatureError, check_public_key

    try:
        check_public_key(b64decode(str(draft.values[_PUBLIC])))
    except SignatureError as error:
        draft.complain(_PUBLIC, f"{error}; give the key that the command signs with")


def _refuse_development_keys(draft: Draft) -> None:
    from bpc_worker.keys import keyring
    from bpc_worker.keys.encryption import DEVELOPMENT_SEALING_KEY

    public = b64encode(keyring.development_signer().public_key).decode("ascii")
    known: dict[str, set[object]] = {
        _SEED: {keyring.DEVELOPMENT_SEED},
        _NAME: {keyring.DEVELOPMENT_KEY_ID},
        "disclosure.key": {keyring.DEVELOPMENT_DISCLOSURE_KEY},
        _PUBLIC: {public},
        _FORMER: {keyring.DEVELOPMENT_SEED, keyring.DEVELOPMENT_KEY_ID},
        _SEALING: {DEVELOPMENT_SEALING_KEY[1]},
    }
    for name, keys in known.items():
        value = draft.values[name]
        if keys & ({*value, *value.values()} if isinstance(value, dict) else {value}):
            draft.complain(name, "the development key is known to everybody, and env is prod; choose another")
