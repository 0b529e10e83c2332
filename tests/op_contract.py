"""What every operator owes, checked for each OpTest case without the case saying so.

Each function registered with @check takes the case after its setUp and asserts; where it cannot
apply (no floating input, one operand, ...) it returns. A case leaves a check out by its name, with
the reason, in `leave_out`.
"""

import warnings

import numpy as np

from dygraph import _core

TYPED = (
    _core.DygraphError,
    TypeError,
    ValueError,
    IndexError,
    KeyError,
    NotImplementedError,
    MemoryError,
)
_checks = {}


def check(fn):
    _checks[fn.__name__] = fn
    return fn


def checks():
    return _checks


def as_method(name, fn):
    def method(self):
        fn(self)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = fn.__doc__
    return method


def tools():
    """The module op_test, which imports this one."""
    import op_test

    return op_test


def arrays_of(slots):
    t = tools()
    return {n: np.asarray(t.split_lod(e)[0]) for n, e in t.entries(slots).items()}


def with_arrays(slots, new):
    """The slots with arrays replaced by name; LoD goes, since sizes may differ."""
    t = tools()
    bare = {
        s: [(n, t.split_lod(e)[0]) for n, e in t.entries({s: v}).items()]
        if isinstance(v, list)
        else t.split_lod(v)[0]
        for s, v in slots.items()
        if v is not None
    }
    return t.map_arrays(bare, lambda n, a: new.get(n, a))


def floats_in(case):
    return [n for n, a in arrays_of(case.inputs).items() if a.dtype.kind == "f"]


def tolerance_of(case, dtype):
    """As near as the declared numbers allow: float32 arrays cost digits."""
    if dtype in case.tolerance:
        return case.tolerance[dtype]
    if dtype == "float32":
        return 2e-5, 1e-5
    declared = [*arrays_of(case.inputs).values(), *arrays_of(case.outputs).values()]
    if any(a.dtype.kind == "f" and a.dtype.itemsize < 8 for a in declared):
        return 2e-5, 1e-5
    return 1e-10, 1e-10


def is_elementwise(case):
    if case.elementwise is not None:
        return case.elementwise
    shapes = {
        a.shape for a in [*arrays_of(case.inputs).values(), *arrays_of(case.outputs).values()]
    }
    return len(shapes) == 1


def expected_or_none(case, inputs):
    """NumPy's outputs for other inputs, or None where NumPy refuses them too."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the mean of nothing
            return case.reference(inputs, case.attrs)
    except (ValueError, IndexError, TypeError, ZeroDivisionError):
        return None


def run_or_typed_error(case, inputs, **options):
    try:
        return case.run_slots(inputs, **options)
    except TYPED:
        return None


def forward(case, dtype):
    t = tools()
    inputs = t.cast(case.inputs, dtype)
    run = case.run_slots(inputs)
    case.compare(run, case.outputs, *tolerance_of(case, dtype))
    dtype_attrs = {a["name"] for a in case.info()["attrs"] if a["is_dtype"]} & set(case.attrs or {})
    declared = arrays_of(case.outputs)
    for name, v in run.results.items():
        if name not in declared:
            continue
        want = case.fixed_dtypes.get(name)
        if (
            want is None
            and declared[name].dtype.kind == "f"
            and floats_in(case)
            and not dtype_attrs
        ):
            want = dtype
        if want:
            case.assertEqual(v.dtype.name, want, f"element type of {name} for {dtype} inputs")


@check
def forward_float32(case):
    """Floating inputs as float32 give the expected values in float32."""
    if case.supports("float32") or not floats_in(case):
        forward(case, "float32")


@check
def forward_float64(case):
    """Floating inputs as float64 give the expected values in float64."""
    if case.supports("float64") and floats_in(case):
        forward(case, "float64")


def gradient_setting(case):
    """(inputs in float64, names to differentiate, outputs), or None where there are none."""
    info = case.info()
    if info["no_gradient"] or not info["has_gradient"] or not case.supports("float64"):
        return None
    names = case.differentiable_inputs()
    inputs = tools().cast(case.inputs, "float64")
    outputs = case.differentiable_outputs(case.run_slots(inputs))
    return (inputs, names, outputs) if names and outputs else None


def first_order(case, inputs, names, outputs, most=48):
    t = tools()
    got = case.analytic(inputs, names, outputs, t.random_projection)
    for name in names:

        def value(changed):
            return t.project(case.run_slots(changed), outputs, t.random_projection)

        for where, slope in t.numeric_slopes(inputs, name, value, 1e-5, most):
            near(
                case,
                (got[name] * where).sum(),
                slope,
                f"gradient of {name} along {np.flatnonzero(where)}",
            )


def near(case, got, slope, what):
    case.assertLessEqual(
        abs(got - slope),
        case.grad_tolerance * max(1.0, abs(slope)),
        f"{case.op_type}: {what}: {got} for {slope}",
    )


@check
def gradient(case):
    """First gradients in float64 against central differences of a random projection."""
    setting = gradient_setting(case)
    if setting:
        first_order(case, *setting)


@check
def second_order(case):
    """Gradients of the gradients against central differences of the first ones, in float64."""
    setting = gradient_setting(case)
    if not setting:
        return
    inputs, names, outputs = setting
    t = tools()
    shapes = arrays_of(inputs)
    weights = {n: t.random_projection(n + "'", shapes[n].shape, 1) for n in names}
    run = case.run_slots(inputs)
    seeds = {f"{o}@GRAD": t.random_projection(o, run.results[o].shape, 1) for o in outputs}

    def gradients(changed, seed_arrays, create_graph):
        run = case.run_slots(changed, grads_for=names)
        tops = [(run.results[o], o) for o in outputs if not run.results[o].stop_gradient]
        v = {f"{o}@GRAD": _core.to_variable(seed_arrays[f"{o}@GRAD"]) for _, o in tops}
        for seed in v.values():
            seed.stop_gradient = not create_graph
        wanted = [run.variables[n] for n in names]
        got = _core.grad(
            [top for top, _ in tops], wanted, list(v.values()), create_graph, create_graph, True
        )
        return run, v, got

    run, v, first = gradients(inputs, seeds, True)
    live = [
        (g, n) for g, n in zip(first, names, strict=True) if g is not None and not g.stop_gradient
    ]
    variables = {**{n: run.variables[n] for n in names}, **v}
    if live:
        second = _core.grad(
            [g for g, _ in live],
            list(variables.values()),
            [_core.to_variable(weights[n]) for _, n in live],
            False,
            False,
            True,
        )
    else:
        second = [None] * len(variables)

    def value(changed, seed_arrays):
        _, _, got = gradients(changed, seed_arrays, False)
        return sum(
            float((t.dense(g) * weights[n]).sum())
            for g, n in zip(got, names, strict=True)
            if g is not None
        )

    for (name, variable), g in zip(variables.items(), second, strict=True):
        analytic = np.zeros(variable.shape) if g is None else t.dense(g)
        if name in v:
            slopes = t.numeric_slopes(seeds, name, lambda s: value(inputs, s), 1e-5, 10)
        else:
            slopes = t.numeric_slopes(inputs, name, lambda i: value(i, seeds), 1e-5, 10)
        for where, slope in slopes:
            near(case, (analytic * where).sum(), slope, f"second gradient with respect to {name}")


@check
def third_order(case):
    """The third derivative along one direction of everything against differences, in float64."""
    import third_order_case

    third_order_case.third_order(case)


@check
def empty(case):
    """No rows at all: NumPy's shape, or a typed error."""
    arrays = arrays_of(case.inputs)
    ranked = [a for a in arrays.values() if a.ndim]
    if not ranked:
        return
    batch = ranked[0].shape[0]
    without = {n: a[:0] for n, a in arrays.items() if a.ndim and a.shape[0] == batch}
    inputs = with_arrays(case.inputs, without)
    run = run_or_typed_error(case, inputs)
    if run is None:
        return
    if case.reference is not None:
        expected = expected_or_none(case, inputs)
        if expected is not None:
            case.compare(run, expected, 1e-5, 1e-5)
        return
    for name, a in arrays_of(case.outputs).items():
        if name in run.results:
            got = run.results[name].shape
            allowed = {a.shape, (0, *a.shape[1:])} | ({()} if a.shape == (1,) else set())
            case.assertIn(
                got,
                allowed,
                f"shape of {name} for {dict((n, x.shape) for n, x in without.items())}",
            )


@check
def zero_d(case):
    """0-d inputs: right, or a typed error where the operator needs axes."""
    if not is_elementwise(case):
        return
    arrays = arrays_of(case.inputs)
    inputs = with_arrays(
        case.inputs, {n: a.reshape(-1)[0].reshape(()) for n, a in arrays.items() if a.size}
    )
    run = case.run_slots(inputs) if case.elementwise else run_or_typed_error(case, inputs)
    if run is None:
        return
    for name, v in run.results.items():
        case.assertEqual(v.shape, (), f"shape of {name}")
    if case.reference is not None:
        expected = expected_or_none(case, inputs)
        case.assertIsNotNone(
            expected, f"{case.op_type} took a 0-d input that the reference refuses"
        )
        case.compare(run, expected, 1e-5, 1e-5)


BROADCASTS = [
    ((2, 3, 4), (3, 4)),
    ((3, 4), (2, 3, 4)),
    ((2, 1, 4), (1, 3, 1)),
    ((2, 3), (1,)),
    ((), (2, 3)),
    ((2, 3), ()),
]


@check
def broadcast(case):
    """Two-input elementwise operators broadcast as NumPy, forward and backward."""
    arrays = arrays_of(case.inputs)
    if not case.op_type.startswith("elementwise_") or len(arrays) != 2 or case.reference is None:
        return
    if (case.attrs or {}).get("axis", -1) != -1:
        return
    (x, first), (y, second) = arrays.items()
    for left, right in BROADCASTS:
        inputs = with_arrays(case.inputs, {x: np.resize(first, left), y: np.resize(second, right)})
        run = case.run_slots(inputs)
        case.compare(run, case.reference(inputs, case.attrs), 1e-5, 1e-5)
        if gradient_setting(case):
            wide = tools().cast(inputs, "float64")
            first_order(
                case, wide, case.differentiable_inputs(), case.differentiable_outputs(run), most=8
            )


@check
def channels_last(case):
    """4-D inputs whose data lies channels-last give the same values and gradients."""
    t = tools()
    if not any(a.ndim == 4 for a in arrays_of(case.inputs).values()):
        return
    run = case.run_slots(case.inputs, layout="NHWC")
    case.compare(run, case.outputs, 2e-5, 1e-5)
    setting = gradient_setting(case)
    if not setting:
        return
    plain = case.analytic(*setting, t.random_projection)
    other = case.analytic(*setting, t.random_projection, layout="NHWC")
    for name, g in plain.items():
        np.testing.assert_allclose(
            other[name], g, rtol=1e-9, atol=1e-9, err_msg=f"gradient of {name} in NHWC"
        )


@check
def lod_passes(case):
    """Outputs take the LoD of the slot the operator says they share, unless the case moves rows."""
    slot = next(iter(case.info()["shares_lod_of"]), None)
    if case.inputs.get(slot) is None:
        return
    first = next(iter(tools().entries({slot: case.inputs[slot]})))
    a = arrays_of(case.inputs)[first]
    if a.ndim == 0 or a.shape[0] < 2:
        return
    lod = [[0, 1, a.shape[0]]]
    bare = with_arrays(case.inputs, {})
    if isinstance(bare[slot], list):
        bare[slot] = [(n, (x, lod)) if len(x) == len(a) else (n, x) for n, x in bare[slot]]
    else:
        bare[slot] = (bare[slot], lod)
    run = case.run_slots(bare)
    for name, v in run.results.items():
        if v.shape and v.shape[0] == a.shape[0]:
            case.assertEqual(_core.lod(v), [] if case.rows_move else lod, f"LoD of {name}")


@check
def leaves_inputs_alone(case):
    """Inputs keep their bits, and outputs but for declared pairs have storage of their own."""
    names = case.differentiable_inputs() if case.info()["has_gradient"] else ()
    run = case.run_slots(case.inputs, grads_for=names)
    before = arrays_of(case.inputs)
    info = case.info()
    allowed = {tuple(p) for p in info.get("may_share", [])}
    slot_of = {n: s for s, v in case.inputs.items() for n in tools().entries({s: v})}
    for slot in info["outputs"]:
        for name, v in run.results.items():
            if name != slot["name"] or _core.is_selected_rows(v) or v.size == 0:
                continue
            for other, x in run.variables.items():
                if (slot_of[other], name) not in allowed:
                    case.assertNotEqual(
                        _core.storage_id(v), _core.storage_id(x), f"{name} shares {other}'s storage"
                    )
    tops = [v for v in run.results.values() if not v.stop_gradient]
    if tops and names:
        _core.grad(tops, [run.variables[n] for n in names], seeds_of(tops), False, False, True)
    for name, v in run.variables.items():
        np.testing.assert_array_equal(
            v.numpy(), before[name], err_msg=f"{case.op_type} wrote into {name}"
        )


def seeds_of(tops):
    """Ones where a result is complex, whose gradient must be given."""
    if any(v.dtype.is_complex for v in tops):
        return [_core.ops.fill_any_like(v, value=1.0) for v in tops]
    return []


def bits(run):
    return {n: (v.dtype.name, v.shape, dense_bytes(v)) for n, v in run.results.items()}


def dense_bytes(variable):
    return tools().dense(variable).tobytes()


@check
def same_bits(case):
    """The same bits each time, and for kernels of our own with one thread and with two."""
    first = bits(case.run_slots(case.inputs))
    case.assertEqual(first, bits(case.run_slots(case.inputs)), "two calls differ")
    arrays = arrays_of(case.inputs)
    inputs = case.inputs
    if is_elementwise(case):  # large enough for two threads to share the work
        inputs = with_arrays(
            inputs, {n: np.resize(a, (*[1] * (a.ndim - 1), 70000)) for n, a in arrays.items()}
        )
    if any("onednn" in kernel.lower() for kernel in case.info()["kernels"]):
        return
    threads = _core.num_threads()
    try:
        _core.set_num_threads(1)
        one = run_or_typed_error(case, inputs)
        _core.set_num_threads(2)
        two = run_or_typed_error(case, inputs)
    finally:
        _core.set_num_threads(threads)
    case.assertEqual(one is None, two is None, "one thread raised, two did not or the reverse")
    if one is not None:
        case.assertEqual(bits(one), bits(two), "one and two threads differ")


def must_raise(case, what, slots, attrs=None):
    try:
        _core.run_op(case.op_type, slots, case.call_attrs() if attrs is None else attrs)
    except TYPED as e:
        case.assertGreaterEqual(len(str(e)), 20, f"the message for {what} says too little: {e}")
    else:
        case.fail(f"{case.op_type} accepted {what}")


@check
def wrong_input(case):
    """Wrong types, ranks, names and gaps raise typed errors that say something."""
    run = case.run_slots(case.inputs)
    slots = {s: v for s, v in run.slots.items() if v is not None}
    info = {s["name"]: s for s in case.info()["inputs"]}
    for slot, given in slots.items():
        one = given[0] if isinstance(given, list) else given
        for what, value in {
            "a string": "text",
            "a number": 3,
            "an array": np.zeros(2),
            "a list of None": [None],
        }.items():
            must_raise(case, f"{what} for {slot}", {**slots, slot: value})
        if not info[slot]["dispensable"]:
            must_raise(case, f"None for {slot}", {**slots, slot: None})
            must_raise(case, f"no {slot}", {s: v for s, v in slots.items() if s != slot})
        if not info[slot]["duplicable"]:
            must_raise(case, f"two variables for {slot}", {**slots, slot: [one, one]})
        if slot not in case.may_be_unwritten:
            must_raise(case, f"an empty variable for {slot}", {**slots, slot: _core.Variable()})
        if _core.value_kind(one) != "Tensor":
            continue
        array = one.numpy()
        for other in (
            array.astype("bool"),
            array.real.astype("int8"),
            array[None],
            array[None, None, None],
            array.reshape(-1),
        ):
            try:
                _core.run_op(
                    case.op_type, {**slots, slot: _core.to_variable(other)}, case.call_attrs()
                )
            except TYPED:
                pass
    must_raise(case, "a slot it has not", {**slots, "NoSuchSlot": next(iter(slots.values()), None)})
    must_raise(
        case, "an attribute it has not", slots, {**case.call_attrs(), "no_such_attribute": 1}
    )
    for attr in case.info()["attrs"]:
        must_raise(
            case,
            f"an object for {attr['name']}",
            slots,
            {**case.call_attrs(), attr["name"]: object()},
        )
        if attr["type"] not in ("a string", "a list of strings") and not attr["is_dtype"]:
            must_raise(
                case,
                f"a string for {attr['name']}",
                slots,
                {**case.call_attrs(), attr["name"]: "text"},
            )


@check
def program_equals_eager(case):
    """The same call in a program gives the same bits."""
    eager = case.run_slots(case.inputs).arrays()
    for name, array in case.run_as_program(case.inputs).items():
        assert array.dtype == eager[name].dtype and array.shape == eager[name].shape, name
        assert array.tobytes() == eager[name].tobytes(), f"{case.op_type}: {name}"


@check
def shapes_before_a_run(case):
    """The shape rule, with all sizes and without the first, agrees with what a run gives."""
    import static_case

    static_case.shapes(case)


@check
def program_gradient_equals_eager(case):
    """Gradients that a program computes have the bits of eager ones."""
    import static_case

    static_case.gradients(case)


@check
def open_attributes_equal_values(case):
    """Attributes that variables of a program give have the bits of values, gradients too."""
    import static_case

    static_case.open_attributes(case)


@check
def traced_equals_eager(case):
    """The call with its gradients, traced, gives eager bits, at another batch size too."""
    import trace_case

    trace_case.traced(case)


@check
def runs_on_cuda(case):
    """With inputs on a CUDA device the host's numbers, forward and first gradients, in each float
    type."""
    import cuda_case

    cuda_case.runs_on_cuda(case)


@check
def higher_orders_on_cuda(case):
    """On a CUDA device the host's gradients of the first three orders, in float64."""
    import cuda_case

    cuda_case.higher_orders_on_cuda(case)
