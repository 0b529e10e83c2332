"""OpTest: one operator against NumPy, numeric differences and the contract all operators share.

A case sets `op_type`, `inputs`, `attrs` and `outputs` in setUp, by slot names::

    class TestRelu(OpTest):
        def setUp(self):
            self.op_type = "relu"
            self.inputs = {"X": away_from(0, rand(2, 3))}
            self.outputs = {"Out": np.maximum(self.inputs["X"], 0)}

        def test_check_output(self):
            self.check_output()

        def test_check_grad(self):
            self.check_grad(["X"], "Out")

An entry is an array, (array, lod) with lengths or offsets, or a list of (name, array) for a slot
that takes a list. Arrays and rank tables are given as `op_values` says. A case may give
`reference(inputs, attrs) -> outputs` in place of outputs: then broadcasting, empty and 0-d inputs
are compared with it as well. Every subclass also gets the checks of op_contract.py as test methods
`test_auto_...` of its own.
"""

import random
import unittest
import zlib

import numpy as np

import op_contract
import op_values
from dygraph import _core

# In harvested cases for other kernels: dropped where the operator does not declare them.
FOREIGN_ATTRS = {
    "use_mkldnn", "use_cudnn", "use_quantizer", "use_xpu", "mkldnn_data_type", "is_test",
    "workspace_size_MB", "exhaustive_search", "data_format", "fuse_relu_before_depthwise_conv",
    "op_role", "op_role_var",
}  # fmt: skip
FLOATS = (np.float16, np.float32, np.float64)


def is_float(array):
    return np.asarray(array).dtype.kind == "f"


def rand(*shape, low=-1.0, high=1.0, dtype="float64"):
    """Uniform numbers from NumPy's global generator, which every case finds seeded by its name."""
    return np.random.uniform(low, high, shape).astype(dtype)


def away_from(value, array, distance=0.05):
    """The array with entries near a kink of the function pushed away from it."""
    shifted = np.where(array < value, value - distance, value + distance)
    return np.where(np.abs(array - value) < distance, shifted, array).astype(array.dtype)


def randomize_probability(rows, classes, dtype="float32"):
    """Rows of positive numbers that sum to one."""
    p = np.random.uniform(0.1, 1.0, (rows, classes)).astype(dtype)
    return p / p.sum(axis=1, keepdims=True)


def skip_check_grad_ci(reason=None):
    """Marks a harvested class that has no gradient check."""

    def mark(cls):
        cls.no_grad_check_reason = reason
        return cls

    return mark


def split_lod(value):
    """(array, offsets or None) of an entry; lengths become offsets."""
    if not isinstance(value, tuple):
        return value, None
    array, lod = value
    lod = [[int(i) for i in level] for level in lod or []]
    if not lod:
        return array, None
    below = [len(level) for level in lod[1:]] + [np.asarray(array).shape[0]]
    if all(sum(level) == n for level, n in zip(lod, below, strict=True)):
        lod = [[0, *np.cumsum(level).tolist()] for level in lod]
    return array, lod


def entries(slots):
    """{name: entry} of every array; a list slot gives its members' names."""
    flat = {}
    for slot, value in (slots or {}).items():
        if isinstance(value, list):
            for i, item in enumerate(value):
                name, member = (
                    item
                    if isinstance(item, tuple) and isinstance(item[0], str)
                    else (f"{slot}[{i}]", item)
                )
                flat[name] = member
        elif value is not None:
            flat[slot] = value
    return flat


def map_arrays(slots, fn):
    """The same slots with fn(name, array) in place of each array."""
    result = {}
    for slot, value in slots.items():
        if isinstance(value, list):
            result[slot] = [
                (name, _map_one(name, entry, fn)) for name, entry in entries({slot: value}).items()
            ]
        elif value is not None:
            result[slot] = _map_one(slot, value, fn)
    return result


def _map_one(name, entry, fn):
    return (
        (fn(name, np.asarray(entry[0])), entry[1])
        if isinstance(entry, tuple)
        else fn(name, np.asarray(entry))
    )


def cast(slots, dtype):
    """The same slots with floating arrays in another type."""
    return map_arrays(slots, lambda _, a: a.astype(dtype) if is_float(a) else a)


class Run:
    """One call: variables by input name, results by output name."""

    def __init__(
        self, case, inputs, *, grads_for=(), layout=None, attrs=None, outputs=None, recorder=None
    ):
        self.variables = {}
        slots = {}
        for slot, value in inputs.items():
            names = entries({slot: value})
            for name, entry in names.items():
                array, lod = split_lod(entry)
                v = _core.to_variable(np.asarray(array), lod=lod)
                if layout and v.ndim == 4:
                    v = _core.to_layout(v, layout)
                if name in grads_for:
                    v.stop_gradient = False
                self.variables[name] = v
            slots[slot] = (
                [self.variables[n] for n in names]
                if isinstance(value, list)
                else self.variables[slot]
            )
        wanted = case.outputs if outputs is None else outputs
        declared = case.info()
        extra = {s["name"] for s in declared["outputs"] if s["extra"]}
        lists = {s["name"] for s in declared["outputs"] if s["duplicable"]}
        counts = {s: len(v) for s, v in wanted.items() if s in lists and isinstance(v, list)}
        counts.update({s: 1 for s, v in wanted.items() if s in extra and s not in counts})
        given = case.call_attrs() if attrs is None else attrs
        _core.set_generator_state(7, 0)
        if recorder:
            for name, variable in self.variables.items():
                recorder.add_feed(variable, name)
            recorder.start()
        try:
            self.slots = op_values.bound(case, slots)
            results = _core.run_op(case.op_type, self.slots, given, counts)
            results = op_values.unbound(case, results)
        finally:
            if recorder:
                recorder.stop()
        self.results = {}
        for slot, value in results.items():
            if isinstance(value, list):
                given = wanted.get(slot)
                names = (
                    list(entries({slot: given}))
                    if given
                    else [f"{slot}[{i}]" for i in range(len(value))]
                )
                self.results.update(zip(names, value, strict=True))
            else:
                self.results[slot] = value

    def arrays(self):
        return {name: v.numpy() for name, v in self.results.items()}


class OpTest(unittest.TestCase):
    """Base of operator cases; see the module's text."""

    op_type = None
    inputs = {}
    attrs = {}
    outputs = {}
    leave_out = {}  # {name of an automatic check: why it does not apply}
    rows_move = False  # True: as many rows as the input that shares its LoD, but others
    may_be_unwritten = ()  # input slots that take a variable without a value
    grad_inputs = None  # names; None: every floating input
    grad_outputs = None  # names; None: every floating output that Python returns
    tolerance = {}  # {'float32': (rtol, atol), 'float64': ...} where the default is not right
    grad_tolerance = 1e-6  # of differences in float64, relative to the larger of 1 and the slope
    fixed_dtypes = {}  # {output name: dtype} where it does not follow the inputs
    table_level = 0  # of the rank table that a batch in a table's slot becomes
    elementwise = None  # True: 0-d inputs must work; None: judged by shapes
    reference = None  # method (inputs, attrs) -> outputs

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        wrap_set_up(cls)
        for name, check in op_contract.checks().items():
            method = f"test_auto_{name}"
            if name in cls.leave_out:
                if not cls.leave_out[name]:
                    raise TypeError(f"{cls.__name__}.leave_out[{name!r}] must say why")
                setattr(cls, method, None)
            else:
                setattr(cls, method, op_contract.as_method(method, check))
        unknown = set(cls.leave_out) - set(op_contract.checks())
        if unknown:
            raise TypeError(f"{cls.__name__}.leave_out names no automatic check: {sorted(unknown)}")

    # What the operator is

    def info(self):
        if getattr(self, "_info", None) is None:
            self._info = _core.describe_op(self.op_type)
        return self._info

    def call_attrs(self):
        known = {a["name"] for a in self.info()["attrs"]}
        return {k: v for k, v in (self.attrs or {}).items() if k in known or k not in FOREIGN_ATTRS}

    def supports(self, dtype):
        return any(dtype in kernel for kernel in self.info()["kernels"])

    def run_as_program(self, inputs):
        """{output name: array} of the same call: recorded, sent through bytes, run by name."""
        recorder = _core.Recorder(lambda: "a case")
        run = self.run_slots(inputs, recorder=recorder)
        made = {name: v for name, v in run.results.items() if v.dtype is not None}
        recording = recorder.finish(list(made.values()))
        program = _core.program_from_bytes(recording.program.to_bytes())
        prepared = _core.PreparedProgram(
            program, _core.Scope(), recording.feeds, recording.fetches, None
        )
        feeds = list(self.run_slots(inputs).variables.values())
        results = prepared.run(feeds, (7, 0))
        return {name: result.numpy() for name, result in zip(made, results, strict=True)}

    def run_slots(self, inputs, **options):
        return Run(self, inputs, **options)

    def differentiable_inputs(self):
        if self.grad_inputs is not None:
            return list(self.grad_inputs)
        return [n for n, e in entries(self.inputs).items() if is_float(split_lod(e)[0])]

    def differentiable_outputs(self, run):
        if self.grad_outputs is not None:
            return list(self.grad_outputs)
        hidden = {s["name"] for s in self.info()["outputs"] if s["intermediate"] or s["extra"]}
        return [
            n
            for n, v in run.results.items()
            if n not in hidden and v.dtype.name.startswith("float")
        ]

    # What cases call

    def check_output(self, atol=1e-5, rtol=1e-5, no_check_set=(), place=None, **_):
        """Forward in the declared types against `outputs`."""
        run = self.run_slots(self.inputs)
        self.compare(run, self.outputs, rtol, atol, no_check_set or ())

    def check_output_with_place(self, place, atol=1e-5, no_check_set=(), **kwargs):
        self.check_output(atol=atol, no_check_set=no_check_set, place=place, **kwargs)

    def compare(self, run, outputs, rtol, atol, leave=()):
        """Values, shapes and LoD of a run against expected entries."""
        for slot, value in outputs.items():
            if slot in leave:
                continue
            for name, entry in entries({slot: value}).items():
                if name in leave:
                    continue
                self.assertIn(name, run.results, f"{self.op_type} gave no {name}")
                array, lod = split_lod(entry)
                got = run.results[name].numpy()
                array = np.asarray(array)
                # Releases before 2.5 had no 0-d tensors: harvested cases write [1] for a scalar.
                if got.shape == () and array.shape == (1,):
                    array = array.reshape(())
                self.assertEqual(got.shape, array.shape, f"shape of {name}")
                np.testing.assert_allclose(
                    *wide(got, array), rtol=rtol, atol=atol, err_msg=f"{self.op_type}: {name}"
                )
                if lod is not None:
                    self.assertEqual(_core.lod(run.results[name]), lod, f"LoD of {name}")

    def check_grad(
        self,
        inputs_to_check,
        output_names,
        max_relative_error=0.005,
        no_grad_set=None,
        numeric_grad_delta=None,
        user_defined_grads=None,
        in_place=False,
        **_,
    ):
        """Gradients in the declared types against numeric differences, or against the arrays given.

        `user_defined_grads` are those of the mean of the outputs, as in Fluid.
        """
        names = [output_names] if isinstance(output_names, str) else list(output_names)
        left_out = set(no_grad_set or ())
        if user_defined_grads is not None:
            got = self.analytic(self.inputs, inputs_to_check, names, mean_projection, left_out)
            for name, expected in zip(inputs_to_check, user_defined_grads, strict=True):
                self.assert_close_gradient(
                    name, got[name], np.asarray(expected), max_relative_error
                )
            return
        got = self.analytic(self.inputs, inputs_to_check, names, random_projection, left_out)
        dtype = "float64" if self.supports("float64") else "float32"
        delta = numeric_grad_delta or (1e-5 if dtype == "float64" else 5e-3)
        exact = cast(self.inputs, dtype)
        for name in inputs_to_check:
            self.assertNotIn(name, left_out, "an input to check must not be left out")

            def value(changed):
                run = self.run_slots(changed, grads_for=())
                return project(run, names, random_projection)

            for where, slope in numeric_slopes(exact, name, value, delta, most=200):
                self.assert_close_gradient(
                    name, (got[name] * where).sum(), slope, max_relative_error
                )

    def check_grad_with_place(self, place, inputs_to_check, output_names, **kwargs):
        self.check_grad(inputs_to_check, output_names, **kwargs)

    def assert_close_gradient(self, name, got, expected, most):
        got, expected = np.asarray(got, "float64"), np.asarray(expected, "float64")
        self.assertEqual(got.shape, expected.shape, f"shape of the gradient of {name}")
        scale = np.where(np.abs(expected) < 1e-3, 1.0, np.abs(expected))
        error = np.max(np.abs(got - expected) / scale, initial=0.0)
        self.assertLessEqual(
            error, most, f"{self.op_type}: gradient of {name}: {got} for {expected}"
        )

    def analytic(self, inputs, names, outputs, projection, left_out=(), layout=None):
        """Gradients by name of the projected outputs; zeros where nothing flows."""
        run = self.run_slots(
            inputs, grads_for=[n for n in names if n not in left_out], layout=layout
        )
        tops = [run.results[n] for n in outputs]
        seeds = [
            _core.to_variable(projection(n, v.shape, len(tops)).astype(v.dtype.name))
            for n, v in zip(outputs, tops, strict=True)
        ]
        wanted = [run.variables[n] for n in names]
        live = [i for i, t in enumerate(tops) if not t.stop_gradient]
        if not live:
            return {n: np.zeros(v.shape) for n, v in zip(names, wanted, strict=True)}
        grads = _core.grad(
            [tops[i] for i in live], wanted, [seeds[i] for i in live], False, False, True
        )
        return {
            n: np.zeros(v.shape) if g is None else dense(g)
            for n, v, g in zip(names, wanted, grads, strict=True)
        }


def wrap_set_up(cls):
    """The class's setUp with seeded numbers and, where outputs are absent, the reference's."""
    own = cls.__dict__.get("setUp")
    if own is None:
        return

    def setUp(self):
        depth = self.__dict__.setdefault("_set_up_depth", 0)
        if depth == 0:
            seed = zlib.crc32(type(self).__qualname__.encode())
            np.random.seed(seed)
            random.seed(seed)
        self._set_up_depth = depth + 1
        own(self)
        self._set_up_depth = depth
        if depth == 0 and self.reference is not None and not self.outputs:
            self.outputs = self.reference(self.inputs, self.attrs)

    cls.setUp = setUp


def dense(variable):
    return (_core.to_dense(variable) if _core.is_selected_rows(variable) else variable).numpy()


def wide(a, b):
    """Both arrays in a type that holds either exactly."""
    if "c" in (a.dtype.kind, b.dtype.kind):
        return a.astype("complex128"), b.astype("complex128")
    if a.dtype.kind in "fb" or b.dtype.kind in "fb":
        return a.astype("float64"), b.astype("float64")
    return a, b


def random_projection(name, shape, _count):
    """Fixed numbers between 0.5 and 1.5 with random signs, by the output's name."""
    generator = np.random.RandomState(zlib.crc32(f"{name}{tuple(shape)}".encode()))
    return generator.uniform(0.5, 1.5, shape) * generator.choice([-1.0, 1.0], shape)


def mean_projection(_name, shape, count):
    """The loss of Fluid's check: the mean of each output, averaged over outputs."""
    return np.full(shape, 1.0 / max(int(np.prod(shape)), 1) / count)


def project(run, names, projection):
    total = 0.0
    for name in names:
        array = run.results[name].numpy().astype("float64")
        total += float((array * projection(name, array.shape, len(names))).sum())
    return total


def numeric_slopes(inputs, name, value, delta, most):
    """(direction, slope along it): all coordinates up to `most`, else some and dense ones."""
    array = np.asarray(split_lod(entries(inputs)[name])[0])
    generator = np.random.RandomState(3)
    if array.size <= most:
        chosen = range(array.size)
    else:
        chosen = generator.choice(array.size, most // 4, replace=False)
    directions = []
    for i in chosen:
        d = np.zeros(array.size)
        d[i] = 1
        directions.append(d.reshape(array.shape))
    if array.size > most:
        directions += [generator.choice([-1.0, 1.0], array.shape) for _ in range(2)]
    for d in directions:
        ends = []
        for sign in (1, -1):
            moved = (array + sign * delta * d).astype(array.dtype)
            ends.append(value(map_arrays(inputs, lambda n, a, m=moved: m if n == name else a)))
        yield d, (ends[0] - ends[1]) / (2 * delta)
