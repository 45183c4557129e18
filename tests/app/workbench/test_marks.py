"""What a process need not do often."""


def test_an_act_is_due_at_first_and_again_after_its_seconds(wb):
    assert wb.mark_if_due("look", 60)
    assert not wb.mark_if_due("look", 60)
    assert wb.mark_if_due("tidy", 60), "another act"
    wb.marks["look"] -= 60
    assert wb.mark_if_due("look", 60)
    assert not wb.mark_if_due("look", 60)
