"""Operator cases from tables, for families whose cases differ in data only."""

from op_test import OpTest, entries


def op_case(name, op_type, inputs, attrs=None, reference=None, *, grad=None, out="Out", **members):
    """A test class of one case.

    Parameters
    ----------
    inputs : callable
        Makes the inputs by slot; called in setUp, after NumPy's generator was seeded.
    reference : callable
        (inputs by name, attrs) -> outputs by slot.
    grad : list of str, optional
        Inputs whose gradient is compared with numeric differences.
    out : str or list of str
        The outputs it is the gradient of.
    members
        What else of OpTest's members to set.
    """

    def set_up(self):
        self.op_type = op_type
        self.inputs = inputs()
        self.attrs = dict(attrs or {})

    def call_reference(self, inputs, attrs):
        return reference(bare(inputs), attrs)

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(grad, out)

    body = {"setUp": set_up, "reference": call_reference, "elementwise": False, **members}
    body["test_check_output"] = test_check_output
    if grad:
        body["test_check_grad"] = test_check_grad
    return type(name, (OpTest,), body)


def bare(inputs):
    """Arrays by slot; a list slot gives a list of arrays."""
    return {
        slot: list(entries({slot: value}).values()) if isinstance(value, list) else value
        for slot, value in inputs.items()
    }


def class_name(op_type, suffix=""):
    return "Test" + "".join(p.title() for p in op_type.split("_")) + suffix
