"""ONNX's own node tests: at least 95 % of those whose types the library has."""

import onnx_node_tests


def test_onnx_node_tests_and_the_page_of_operators():
    outcomes, others = onnx_node_tests.all_outcomes(eager_every=4)
    failed = [o for o in outcomes if o.error]
    assert len(outcomes) > 1500
    assert not [(o.name, o.error) for o in failed if onnx_node_tests.reason(o.name) is None]
    assert len(failed) <= 0.05 * len(outcomes)
    assert not [(o.name, o.eager_error) for o in outcomes if o.eager_error]
    assert onnx_node_tests.PAGE.read_text() == onnx_node_tests.page(outcomes, others), (
        "run python tests/onnx_node_tests.py --write"
    )
