"""Promoting, rolling back and rejecting a version."""

from dataclasses import replace
from datetime import timedelta

import pytest
from fake_models import write_version

from app.versions import promotion, registry
from app.versions.promotion import NothingToRollBack
from app.versions.registry import UnknownVersion
from app.workbench import people
from as2core.errors import As2Error, DamagedModel
from db.repositories import versions as rows


def states(wb):
    return {v.name: v.state for v in registry.list_versions(wb)}


def test_promoting_and_rolling_back_walk_the_same_way(wb, candidates):
    promotion.promote(wb, "towers-1")
    promotion.promote(wb, "towers-2", "better on held-out questions")
    assert registry.get_active(wb).name == "towers-2"
    assert states(wb) == {"cascade": "shipped", "towers-1": "former", "towers-2": "active"}
    assert promotion.roll_back(wb).name == "towers-1"
    assert promotion.roll_back(wb).name == "cascade"
    with pytest.raises(NothingToRollBack):
        promotion.roll_back(wb)
    assert states(wb) == {"cascade": "active", "towers-1": "former", "towers-2": "former"}


def test_one_can_go_to_any_earlier_version_and_back_from_there(wb, candidates):
    promotion.promote(wb, "towers-1")
    promotion.promote(wb, "towers-2")
    promotion.promote(wb, "cascade")
    assert registry.get_active(wb).name == "cascade"
    assert promotion.roll_back(wb).name == "towers-2"


def test_promoting_the_active_one_again_is_no_step(wb, candidates):
    promotion.promote(wb, "towers-1")
    promotion.promote(wb, "towers-1")
    assert promotion.roll_back(wb).name == "cascade"


def test_the_only_version_of_a_kind_stays_when_there_is_none_to_go_back_to(wb):
    path = write_version(wb.settings.versions_dir / "crossed", "cross-encoder")
    with wb.write() as s:
        rows.add_version(s, "crossed", kind="cross-encoder", path=str(path), state="candidate", now=wb.clock())
    promotion.promote(wb, "crossed")
    with pytest.raises(NothingToRollBack, match="no cross-encoder version was active before"):
        promotion.roll_back(wb, "cross-encoder")
    assert registry.get_active(wb, "cross-encoder").name == "crossed"


def test_a_rejected_version_is_put_aside_and_may_still_be_promoted(wb, candidates):
    assert promotion.reject(wb, "towers-1").state == "rejected"
    assert promotion.promote(wb, "towers-1").state == "active"
    promotion.roll_back(wb)
    assert states(wb)["towers-1"] == "former"


@pytest.mark.parametrize("name", ["cascade", "towers-2"])
def test_the_shipped_and_the_active_version_cannot_be_rejected(wb, candidates, name):
    promotion.promote(wb, "towers-2")
    with pytest.raises(As2Error):
        promotion.reject(wb, name)


def test_a_rejection_upon_a_page_that_is_out_of_date_names_who_promoted_the_version_and_when(wb, candidates):
    ada = people.sign_in(wb, "ada")
    promotion.promote(wb, "towers-2", by=ada.id)
    at = wb.clock()
    when = f"{at.day} {at:%b %Y, %H:%M} UTC"
    with pytest.raises(As2Error, match=f"^towers-2 is in use, promoted by ada on {when}: promote another version"):
        promotion.reject(wb, "towers-2", by=ada.id)
    promotion.promote(wb, "towers-1")
    with pytest.raises(As2Error, match="promoted from the command line on"):
        promotion.reject(wb, "towers-1")


def test_the_version_before_is_the_one_that_a_roll_back_brings_back(wb, candidates):
    assert promotion.find_previous(wb) is None
    for name in ("towers-1", "towers-2", "towers-1"):
        promotion.promote(wb, name)
    for before in ("towers-2", "towers-1", "cascade"):
        previous = promotion.find_previous(wb)
        assert previous is not None
        assert previous.name == before == promotion.roll_back(wb).name
    assert promotion.find_previous(wb) is None


def test_of_a_kind_without_a_shipped_version_none_is_active_until_one_is_promoted(wb):
    path = write_version(wb.settings.versions_dir / "crossed", "cross-encoder")
    with wb.write() as s:
        rows.add_version(s, "crossed", kind="cross-encoder", path=str(path), state="candidate", now=wb.clock())
    assert registry.find_active(wb, "cross-encoder") is None
    promotion.promote(wb, "crossed", "it knows our words")
    assert registry.find_active(wb, "cross-encoder") == registry.get_version(wb, "crossed")


def test_one_rolls_back_only_to_what_is_older_and_was_in_use(wb, candidates):
    for name in candidates:
        promotion.promote(wb, name)
    promotion.promote(wb, "towers-1")
    views = {v.name: v for v in registry.list_versions(wb)}
    older, newer = views["towers-1"], replace(views["towers-2"], created=views["towers-1"].created + timedelta(1))
    assert promotion.is_roll_back(older, newer) is False  # the active one is nothing to go back to
    assert promotion.is_roll_back(newer, older) is False
    assert promotion.is_roll_back(replace(older, state="former"), newer)
    assert promotion.is_roll_back(replace(older, state="shipped"), newer)
    assert not promotion.is_roll_back(replace(older, state="candidate"), newer)


def test_a_damaged_version_cannot_be_promoted(wb, candidates):
    (wb.settings.versions_dir / "towers-1" / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(DamagedModel, match="damaged"):
        promotion.promote(wb, "towers-1")
    assert registry.get_active(wb).name == "cascade"


def test_an_unknown_version_is_answered_with_the_known_ones(wb, candidates):
    with pytest.raises(UnknownVersion, match="towers-2, towers-1"):
        promotion.promote(wb, "towers-9")
