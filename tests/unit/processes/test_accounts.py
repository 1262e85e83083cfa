"""Which account children get."""

import pwd

import pytest

from bpc_worker.processes.confinement import AccountError, account_of


def test_an_account_is_found_by_name_or_number_and_a_number_need_not_be_anybody_s() -> None:
    nobody = pwd.getpwnam("nobody")

    assert account_of("nobody") == account_of(str(nobody.pw_uid)) == (nobody.pw_uid, nobody.pw_gid)
    assert account_of("4123456") == (4123456, 4123456)


@pytest.mark.parametrize(
    ("name", "said"), [("root", "is root"), ("0", "is root"), ("no such account", "no account")]
)
def test_root_and_nobody_at_all_are_refused(name: str, said: str) -> None:
    with pytest.raises(AccountError, match=said):
        account_of(name)
