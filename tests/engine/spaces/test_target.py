"""Targets: their names, and which distances can be compared."""

from crossview.engine.spaces.target import Target, on_common_scale, view_of


def test_a_target_is_called_by_its_view_and_the_name_of_its_metric():
    """If the view has only one metric, the name is the view's; the view can be read from the name."""
    alone, second = Target(view="forest", dim=8), Target(view="forest", name="2", metric=1, dim=8)
    assert (str(alone), str(second)) == ("forest", "forest:2")
    assert view_of(str(alone)) == view_of(str(second)) == "forest"


def test_distances_are_compared_on_a_stated_scale_only():
    """Equal widths prove nothing: targets without a scale never have a common one."""
    free = [Target(view=view, dim=8) for view in ("color", "gist")]
    scaled = [Target(view="forest", name=name, dim=dim, scale="forest") for name, dim in (("1", 8), ("2", 16))]
    assert on_common_scale(scaled)
    assert on_common_scale(scaled[:1])
    assert not on_common_scale(free)
    assert not on_common_scale(free[:1])
    assert not on_common_scale([*scaled, *free])


def test_a_code_is_whole_bytes():
    """Vectors are not codes."""
    assert Target(view="gist", dim=12, codes=True, floats=5).code_bytes == 2
    assert Target(view="gist", dim=12).code_bytes is None
