"""An ONNX file is checked, and refused if necessary, before it runs."""

from pathlib import Path

import numpy as np
import pytest
import tiny_models as tiny
from tiny_models import node, onnx, value, weights

from crossview.features.errors import ModelError
from crossview.features.models.graph import read_graph


def test_inputs_and_outputs_are_those_of_the_graph(tmp_path: Path) -> None:
    found = read_graph((tiny.picture_folder(tmp_path) / "vision_model.onnx").read_bytes())
    assert (found.inputs, found.outputs) == (("pixel_values",), ("image_embeds",))
    assert found.operators == {"GlobalAveragePool", "Flatten", "MatMul"}


@pytest.mark.parametrize("data", [b"", b"not a model", b"\x80\x02}q\x00.", bytes(1000)])
def test_other_files_are_no_models(data: bytes) -> None:
    with pytest.raises(ModelError, match="not an ONNX model"):
        read_graph(data)


def looping(path: Path) -> Path:
    """Return a graph with a loop, hidden in the branch of an If."""
    body = onnx.helper.make_graph(
        [node("Identity", ["go"], ["again"])],
        "body",
        [value("step", [], onnx.TensorProto.INT64), value("go", [], onnx.TensorProto.BOOL)],
        [value("again", [], onnx.TensorProto.BOOL)],
    )
    branch = onnx.helper.make_graph([node("Loop", ["", "yes"], [], body=body)], "branch", [], [])
    inner = node("If", ["yes"], [], then_branch=branch, else_branch=branch)
    return tiny.save(
        path,
        [inner, node("Identity", ["x"], ["y"])],
        [value("x", [1])],
        [value("y", [1])],
        [weights("yes", np.array(True))],
    )


def test_a_loop_is_refused_wherever_it_is(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="operator Loop, which might never end"):
        read_graph(looping(tmp_path / "m.onnx").read_bytes())


def test_a_loop_in_the_default_of_a_function_is_refused(tmp_path: Path) -> None:
    """The function runs this graph by default, because nothing calls the function with another one."""
    model = onnx.load(looping(tmp_path / "m.onnx"))
    branch = model.graph.node[0].attribute[0].g
    inner = node("If", ["x"], [])
    for name in ("then_branch", "else_branch"):
        inner.attribute.add(name=name, ref_attr_name="branch", type=onnx.AttributeProto.GRAPH)
    imports = [onnx.helper.make_opsetid("", 17)]
    own = onnx.helper.make_function("own", "F", ["x"], [], [inner], imports)
    own.attribute_proto.add(name="branch", type=onnx.AttributeProto.GRAPH).g.CopyFrom(branch)
    del model.graph.node[0]
    model.functions.append(own)
    with pytest.raises(ModelError, match="operator Loop, which might never end"):
        read_graph(model.SerializeToString())


def test_a_scan_is_refused(tmp_path: Path) -> None:
    step = onnx.helper.make_graph([node("Identity", ["a"], ["b"])], "step", [value("a", [1])], [value("b", [1])])
    scan = node("Scan", ["x"], ["y"], body=step, num_scan_inputs=1)
    path = tiny.save(tmp_path / "m.onnx", [scan], [value("x", [9, 1])], [value("y", [9, 1])])
    with pytest.raises(ModelError, match="operator Scan, which might never end"):
        read_graph(path.read_bytes())


def test_an_unknown_operator_is_refused(tmp_path: Path) -> None:
    own = node("Shell", ["x"], ["y"], domain="evil.example")
    path = tiny.save(tmp_path / "m.onnx", [own], [value("x", [1])], [value("y", [1])])
    with pytest.raises(ModelError, match=r"operator Shell of 'evil\.example'"):
        read_graph(path.read_bytes())


def test_weights_in_other_files_are_refused(tmp_path: Path) -> None:
    model = onnx.load(tiny.picture_folder(tmp_path) / "vision_model.onnx")
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, size_threshold=0, location="other.bin")
    with pytest.raises(ModelError, match="weights 'projection' are in another file"):
        read_graph((tmp_path / "m.onnx").read_bytes())
