"""The tree keeps its rules, and each rule notices when it is broken."""

from pathlib import Path

import pytest

from layout import rules

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ["csrc", "dygraph", "static", "tests", "benchmarks", "examples"]


@pytest.fixture(scope="module")
def tree():
    """{path: text} of the sources, without links: dygraph/static, and what the build adds."""
    found = {}
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            name = path.relative_to(ROOT).as_posix()
            if (
                name.startswith(("dygraph/include/", "dygraph/libs/", "dygraph/static/"))
                or not path.is_file()
            ):
                continue
            if path.suffix in rules.SOURCE_SUFFIXES or name == "csrc/README.md":
                found[name] = path.read_text(encoding="utf-8")
    return found


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.__name__)
def test_tree_keeps_the_rule(tree, rule):
    problems = rule(tree)
    assert not problems, "\n" + "\n".join(problems)


def test_tree_is_read(tree):
    assert "csrc/base/enforce.h" in tree
    assert "tests/layout/rules.py" in tree


HEADER = "// Something.\n#pragma once\n"

# rule: (path, text, what the problem names; None: no problem)
EXAMPLES = {
    rules.includes_follow_the_rooms: [
        ("csrc/base/a.cc", '#include "tensor/dims.h"\n', "tensor/dims.h"),
        ("csrc/op/a.cc", '#include "memory/memory.h"\n', "memory/memory.h"),
        ("csrc/tensor/a.cc", '#include "dims.h"\n', "from csrc/"),
        ("csrc/tensor/a.cc", "#include <Python.h>\n", "Python.h"),
        ("csrc/op/a.cc", '#  include "pybind11/numpy.h"\n', "pybind11"),
        ("csrc/attic/a.cc", "int a;\n", "attic/"),
        ("csrc/tensor/a.cc", '// #include "op/op.h"\n', None),
        ("csrc/tensor/a.cc", '#include "tensor/lod.h"\n', None),
        ("csrc/python/a.cc", "#include <Python.h>\n", None),
    ],
    rules.includes_go_round_in_no_circle: [
        ("csrc/op/a.h", '#include "op/a.h"\n', "op/a.h"),
        ("csrc/op/a.cc", '#include "op/a.h"\n', None),
        ("csrc/op/a.h", '// #include "op/a.h"\n', None),
    ],
    rules.backends_need_no_ifdef: [
        ("csrc/op/a.cc", "#ifdef WITH_CUDA\n#endif\n", "WITH_CUDA"),
        ("csrc/op/a.cc", "#if defined(__CUDACC__)\n#endif\n", "__CUDACC__"),
        ("csrc/python/a.cc", "#ifdef WITH_ONEDNN\n#endif\n", "WITH_ONEDNN"),
        ("csrc/op/a_onednn.cc", "#ifdef WITH_CUDA\n#endif\n", "WITH_CUDA"),
        ("csrc/platform/onednn.cc", "#ifdef WITH_ONEDNN\n#endif\n", None),
        ("csrc/operators/a_op.cu", "#ifdef __CUDA_ARCH__\n#endif\n", None),
    ],
    rules.macros_only_register: [
        ("csrc/operators/a_op.cc", "#define KERNEL(T) T\n", "KERNEL"),
        ("csrc/operators/a_op.cc", "#define DYGRAPH_FAST\n", "DYGRAPH_FAST"),
        ("csrc/tensor/a.h", "#define MAX(a, b) a\n", "MAX"),
        ("csrc/tensor/a.h", "#define SIZE 3\n", "SIZE"),
        ("csrc/operators/a_op.cc", "#define REGISTER_A(T) T\n", None),
        ("csrc/kernels/simd.h", "#define DYGRAPH_INLINE inline\n", None),
    ],
    rules.memory_comes_from_the_allocator: [
        ("csrc/kernels/a.cc", "p = std::malloc(8);\n", "malloc"),
        ("csrc/operators/a_op.cc", "p = new float[n];\n", "new float["),
        ("csrc/kernels/a.cc", "auto p = std::make_unique<float[]>(n);\n", "make_unique"),
        ("csrc/memory/a.cc", "p = std::malloc(8);\n", None),
        ("csrc/kernels/a.cc", "// no malloc(8)\n", None),
    ],
    rules.headers_hold_no_state: [
        ("csrc/op/a.h", "inline thread_local int depth = 0;\n", "depth"),
        ("csrc/op/a.h", "inline int calls = 0;\n", "calls"),
        ("csrc/op/a.h", "  static int calls = 0;\n", "calls"),
        ("csrc/op/a.h", "  Pool<A>::Put(a);\n", "Pool<A>"),
        ("csrc/op/a.cc", "  Pool<A>::Put(a);\n", None),
        ("csrc/op/a.h", "extern thread_local int depth;\n", None),
        ("csrc/op/a.h", "inline int Calls() { return 0; }\n", None),
        ("csrc/op/a.h", "inline constexpr int kMost = 4;\n", None),
        ("csrc/op/a.h", "  static Ref Adopt(T* p) {\n", None),
        ("csrc/op/a.cc", "thread_local int depth = 0;\n", None),
    ],
    rules.headers_say_what_they_are_for: [
        ("csrc/op/a.h", "#pragma once\n", "what the file is for"),
        ("csrc/op/a.h", "// Something.\n", "#pragma once"),
        ("csrc/op/a.h", HEADER, None),
    ],
    rules.no_using_namespace: [
        ("csrc/op/a.cc", "using namespace std;\n", "using namespace std"),
        ("csrc/op/a.cc", "namespace dygraph {}\n", None),
    ],
    rules.statics_need_no_interpreter: [
        ("csrc/python/a.cc", "void F() {\n  static py::object o = py::none();\n}\n", "py::none"),
        ("csrc/python/a.cc", "  static PyObject* o =\n      PyList_New(0);\n", "PyList_New"),
        ("csrc/python/a.cc", "  static const int n = op.Require();\n", None),
        ("csrc/python/a.cc", "  static const char* names[] = {};\n", None),
    ],
    rules.messages_speak: [
        ("csrc/op/a.cc", 'ENFORCE(x, Type, "bad x");\n', "ENFORCE"),
        ("csrc/op/a.cc", "ENFORCE(x, Type, message);\n", "ENFORCE"),
        ("csrc/op/a.cc", 'ENFORCE(n == "a name as long as a message", Type, "bad");\n', "ENFORCE"),
        ("csrc/op/a.cc", 'int a;\nTHROW(Type, "no (", x);\n', "a.cc:2"),
        (
            "csrc/op/a.cc",
            'ENFORCE(f(x, y), Type, "X must be a matrix, ",\n        "got ", x);\n',
            None,
        ),
    ],
    rules.an_operator_is_one_file: [
        ("csrc/operators/activation/relu.cc", "int a;\n", "relu.cc"),
        ("csrc/operators/relu_op.cc", "int a;\n", "relu_op.cc"),
        ("csrc/operators/activation/relu_op_onednn.cc", "int a;\n", None),
    ],
    rules.the_map_names_every_room: [
        ("csrc/op/a.h", HEADER, "op/"),
    ],
    rules.python_imports_follow_the_order: [
        ("dygraph/nn.py", "from dygraph import static\n", "static"),
        ("dygraph/__init__.py", "from dygraph import static\n", "static"),
        ("dygraph/nn.py", "def f():\n    from dygraph.static.io import save\n", "nn.py:2"),
        (
            "dygraph/nn.py",
            "def f():\n    return importlib.import_module('dygraph.static')\n",
            "nn.py:2",
        ),
        ("static/io.py", "import torch\n", "torch"),
        ("static/io.py", "import static\n", "never as static"),
        ("dygraph/__init__.py", "def f():\n    from dygraph import static\n", None),
        ("dygraph/jit/a.py", "def f():\n    from dygraph import static\n", None),
        ("dygraph/hub.py", "def f():\n    import tqdm\n", None),
        ("static/io.py", "import dygraph, numpy, os\n", None),
        ("static/io.py", "from . import program\n", None),
    ],
    rules.modules_stand_in_rooms: [
        ("dygraph/extra.py", "", "into a room"),
        ("dygraph/attic/a.py", "", "into a room"),
        ("dygraph/core/__init__.py", "", "no docstring"),
        ("dygraph/metrics.py", "", None),
        ("dygraph/core/a.py", "", None),
        ("static/a.py", "", None),
    ],
    rules.modules_form_no_circle: [
        ("dygraph/core/a.py", "from dygraph.core.a import f\n", "dygraph.core.a"),
        ("dygraph/core/a.py", "from dygraph.core import a\n", "dygraph.core.a"),
        ("dygraph/core/a.py", "def f():\n    from dygraph.core import a\n", None),
        ("dygraph/core/a.py", "from dygraph.core import b\n", None),
        ("static/io.py", "from dygraph.static import io\n", "static.io"),
        ("static/io.py", "def f():\n    from dygraph.static.io import g\n", "static.io"),
        ("static/io.py", "from dygraph.static import core\n", None),
    ],
    rules.modules_write_no_globals: [
        ("static/io.py", "globals().update(f=1)\n", "static/io.py:1"),
        ("dygraph/nn/__init__.py", "globals()['f'] = 1\n", "globals()"),
        ("dygraph/nn/__init__.py", "load(globals(), 'f')\n", "globals()"),
        ("dygraph/ops.py", "globals().update(f=1)\n", None),
        ("static/io.py", "a = sorted({*globals()}, key=len) + list(globals().items())\n", None),
    ],
    rules.nothing_runs_foreign_code: [
        ("static/io.py", "import pickle\n", "pickle"),
        ("static/io.py", "from tarfile import open\n", "tarfile"),
        ("static/io.py", "eval('1')\n", "eval"),
        ("static/io.py", "builtins.exec('1')\n", "exec"),
        ("static/io.py", "yaml.load(f)\n", "yaml.load"),
        ("static/io.py", "os.system('ls')\n", "os.system"),
        ("static/io.py", "subprocess.run('ls', shell=True)\n", "shell"),
        ("static/io.py", "archive.extractall()\n", "extractall"),
        ("static/io.py", "np.load(f, allow_pickle=True)\n", "allow_pickle"),
        ("dygraph/nn.py", "layer.eval()\n", None),
        ("static/io.py", "np.load(f, allow_pickle=False)\n", None),
    ],
    rules.files_are_short: [
        ("csrc/op/a.cc", "int a;\n" * 601, "601 lines"),
        ("dygraph/a.py", '"""Text."""\n' + "a = 1\n" * 600, "601 lines"),
        ("csrc/op/a.cc", "// Long lines because.\n" + "\n" * 1000, "1001 lines"),
        ("csrc/op/a.cc", "// 601 lines because it is a table.\n" + "\n" * 600, None),
    ],
}


@pytest.mark.parametrize(
    "rule, path, text, named",
    [(rule, *example) for rule, examples in EXAMPLES.items() for example in examples],
)
def test_rule_on_example(rule, path, text, named):
    problems = rule({path: text})
    if named is None:
        assert problems == []
    else:
        assert len(problems) == 1
        assert named in problems[0]
        assert problems[0].startswith((path, "csrc/README.md"))


ALIAS = "template <class T>\nusing AKernel = Kernel<A, T>;\n"
STRUCT = "template <class T>\nstruct AKernel {};\n"


@pytest.mark.parametrize(
    ("second", "named"),
    [
        (("csrc/operators/b_op.cc", "namespace b {\n" + ALIAS + "}\n"), "b_op.cc:2: AKernel"),
        (("csrc/operators/b_op_onednn.cc", "namespace {\n\n" + ALIAS + "}\n"), "AKernel"),
        (("csrc/operators/b_op.cc", ALIAS.replace("AKernel", "BKernel")), None),
        (("csrc/operators/b_op.cc", "using AKernel = int;\n"), None),
        (("csrc/operators/b_op.cc", STRUCT + "REGISTER_CPU_KERNEL(b, AKernel, float);\n"), "b_op"),
        (("csrc/operators/b_op.cc", STRUCT), None),
        (("csrc/kernels/b.cc", ALIAS), None),
    ],
)
def test_kernel_aliases_have_names_of_their_own(second, named):
    path, text = second
    problems = rules.kernel_aliases_have_names_of_their_own(
        {"csrc/operators/a_op.cc": "namespace {\n" + ALIAS + "}\n", path: text}
    )
    assert [named in p for p in problems] == [True] * (named is not None)


def test_headers_of_operators_have_names_of_their_own():
    rule = rules.headers_of_operators_have_names_of_their_own
    own = {"csrc/kernels/fft.h": "", "csrc/operators/fourier/transforms.h": ""}
    assert rule(own) == []
    (problem,) = rule({**own, "csrc/operators/fourier/fft.h": ""})
    assert problem == "csrc/operators/fourier/fft.h: csrc/kernels/fft.h has its name"


@pytest.mark.parametrize(
    ("includes", "named"),
    [
        ({"a.h": "b.h", "b.h": "c.h", "c.h": "a.h"}, "a circle of op/a.h, op/b.h, op/c.h"),
        ({"a.h": "b.h", "b.cc": "c.h", "c.h": "a.h"}, "sources in a circle: op/a, op/b, op/c"),
        ({"a.h": "b.h", "b.cc": "b.h", "c.cc": "a.h"}, None),
        ({"gradient_of.h": "op_info.h", "op_info.cc": "gradient_of.h"}, "gradient_of, op/op_info"),
    ],
)
def test_includes_go_round_in_no_circle(includes, named):
    files = {f"csrc/op/{a}": f'#include "op/{b}"\n' for a, b in includes.items()}
    problems = rules.includes_go_round_in_no_circle(files)
    assert [named in p for p in problems] == [True] * (named is not None)


FUNCTION = (
    "namespace {\nint Sum(int a, int b) {\n  int both = a + b;\n"
    "  return both * both + BODY;\n}\n}\n"
)


@pytest.mark.parametrize(
    ("second", "problems"),
    [
        (FUNCTION.replace("BODY", "1234567"), ["csrc/op/b.cc:2: Sum stands in csrc/op/a.cc too"]),
        (FUNCTION.replace("BODY", "7654321"), []),
        (FUNCTION.replace("BODY", "1234567").replace("Sum", "Total"), []),
    ],
)
def test_functions_exist_once(second, problems):
    first = FUNCTION.replace("BODY", "1234567")
    assert rules.functions_exist_once({"csrc/op/a.cc": first, "csrc/op/b.cc": second}) == problems
    constant = FUNCTION.replace("BODY", "kX + 123456")
    assert rules.functions_exist_once({"csrc/op/a.cc": constant, "csrc/op/b.cc": constant}) == []


def test_every_rule_has_an_example_that_breaks_it():
    # those that compare files have tests of their own
    comparing = {
        rules.kernel_aliases_have_names_of_their_own,
        rules.functions_exist_once,
        rules.headers_of_operators_have_names_of_their_own,
    }
    for rule in set(rules.RULES) - comparing:
        assert any(named is not None for _, _, named in EXAMPLES[rule]), rule.__name__


def test_comments_and_literals_are_told_apart():
    text = 'int n = 1\'000; // "no string\nchar c = \'"\'; f("a // b", R"(x " y)"); /* " */\n'
    code = rules.without_comments(text)
    assert "no string" not in code
    assert '"a // b"' in code
    assert code.count("\n") == 2
    plain = rules.without_literals(text)
    assert "a // b" not in plain
    assert plain.count('"') == 4
