from bpc_worker.core.base.audience import AUDIENCES, EVERYBODY, NOBODY, Audience, seen_as

LATER = {**AUDIENCES, "recyclers": Audience("Annex XIII point 2", formerly=("commission", "authorities"))}


def test_there_are_four_to_begin_with_each_with_its_basis() -> None:
    assert EVERYBODY == ("authorities", "commission", "legitimate_interest", "public")
    assert all(each.basis.startswith("Art. 77(2)") for each in AUDIENCES.values())
    assert NOBODY not in AUDIENCES


def test_who_has_a_name_in_a_passport_is_seen_as_himself() -> None:
    assert seen_as("public", EVERYBODY) == ("public",)
    assert seen_as("recyclers", ["recyclers", "public"], LATER) == ("recyclers",)


def test_a_later_name_stands_for_the_former_ones_that_a_passport_knows() -> None:
    assert seen_as("recyclers", EVERYBODY, LATER) == ("authorities", "commission")
    assert seen_as("recyclers", ["authorities", "public"], LATER) == ("authorities",)


def test_a_stranger_is_nobody() -> None:
    assert seen_as("press", EVERYBODY) == ()
    assert seen_as("commission", ["public"]) == ()
