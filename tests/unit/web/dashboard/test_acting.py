"""Where a form leads back to."""

import pytest

from bpc_worker.web.dashboard.acting import inside


@pytest.mark.parametrize("path", ["/dead", "/dead?type=A&code=B%20C", "/jobs/x"])
def test_a_page_of_ours_is_shown_again(path: str) -> None:
    assert inside(path) == path


@pytest.mark.parametrize(
    "path",
    ["", "dead", "//elsewhere.example/", "https://elsewhere.example/", "/\\elsewhere.example", "/a\r\nX: y",
     "javascript:alert(1)", "/\t/elsewhere.example"],
)  # fmt: skip
def test_another_address_is_not(path: str) -> None:
    assert inside(path) == "/"
