"""The rules of the source tree, each a function from {path: text} to a list of problems.

Paths are relative to the root, with forward slashes. `test_layout.py` runs every rule on the
tree and on small examples that break it.
"""

import ast
import re
import sys
from pathlib import PurePosixPath

# Which rooms of csrc/ a room may include beside itself. None: any.
ROOMS = {
    "base": set(),
    "platform": {"base"},
    "memory": {"base", "platform"},
    "tensor": {"base", "platform", "memory"},
    "op": {"base", "platform", "tensor"},
    "kernels": {"base", "platform", "memory", "tensor"},
    "operators": {"op", "kernels", "base", "platform", "memory", "tensor"},
    "cuda": {"op", "kernels", "operators", "base", "platform", "memory", "tensor"},
    "run": {"op", "tensor", "memory", "platform", "base"},
    "tape": {"run", "op", "tensor", "memory", "platform", "base"},
    "program": {"op", "tensor", "memory", "platform", "base"},
    "passes": {"program", "op", "tensor", "platform", "base"},
    "execute": {"program", "run", "op", "tensor", "memory", "platform", "base"},
    "trace": {"passes", "program", "tape", "run", "op", "tensor", "memory", "platform", "base"},
    "files": {"execute", "program", "op", "tensor", "memory", "platform", "base"},
    "inference": {
        "files", "execute", "passes", "program", "run", "op", "tensor", "memory", "platform", "base"
    },
    "python": None,
}
# Pairs of a header and its source that may include each other's headers: parts of one thing.
# Headers alone never go round in a circle.
CIRCLES = [
    {"memory/buddy_allocator", "memory/memory"}
    | {"memory/small_block_cache", "memory/system_allocators"},
    {"tensor/storage", "tensor/storage_watch"},
    {"op/grad_builder", "op/gradient_of", "op/op_info", "op/op_registry", "op/recipes"},
    {"platform/onednn", "platform/onednn_api"},
    {"tape/node", "tape/variable"},
    {"execute/executor", "execute/frame"},
    {"program/backward", "program/backward_pass"},
    {"files/file_set", "files/model_files"},
    {"kernels/recurrent", "kernels/recurrent_steps"},
    {"operators/arithmetic/binary", "operators/arithmetic/binary_sums"},
    {"python/errors", "python/sizes"},
]
# Of dygraph/: rooms, and the modules beside them, whose names users import.
PYTHON_ROOMS = set(
    "autograd codegen core dataset distributed fluid functions inspect io jit lr nn onnx optimizer "
    "quantization saving stubs training vision".split()
)
PUBLIC_MODULES = set(
    "__init__ __main__ amp callbacks checkpoint cuda distribution errors fft geometric "
    "inference initializer linalg memory metrics nets notebook ops profiler reader regularizer "
    "safetensors signal special text unique_name".split()
)
SOURCE_SUFFIXES = {".h", ".cc", ".cu", ".cuh", ".py", ".proto"}
FUNCTION_MACROS = re.compile(r"ENFORCE|THROW|FLAG|REGISTER_\w+|ASAN_(UN)?POISON_MEMORY_REGION")
ATTRIBUTE_MACROS = re.compile(r"DYGRAPH_\w+|REGISTER_\w+")
MESSAGE_LENGTH = 20
LONG, TOO_LONG = 600, 1000

TOKEN = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
      | (?P<string>R"(?P<mark>[^\s()\\]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*")
      | (?P<char>(?<!\w)'(?:\\[^']+|[^'\\\n])')""",
    re.VERBOSE | re.DOTALL,
)


def without_comments(text):
    """C++ text with comments blanked; lines keep their numbers, string literals stay."""

    def blank(match):
        return re.sub(r"[^\n]", " ", match[0]) if match["comment"] else match[0]

    return TOKEN.sub(blank, text)


def without_literals(text):
    """C++ text with comments blanked and the insides of string literals replaced by x."""

    def blank(match):
        if match["string"]:
            return '"' + re.sub(r"[^\n]", "x", match[0][1:-1]) + '"'
        return "'" + " " * (len(match[0]) - 2) + "'" if match["char"] else match[0]

    return TOKEN.sub(blank, without_comments(text))


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def cpp(files, *rooms):
    """(path, room, text) of the C++ files of these rooms, of all where none is given."""
    for path, text in sorted(files.items()):
        parts = PurePosixPath(path).parts
        if parts[0] != "csrc" or len(parts) < 3 or PurePosixPath(path).suffix == ".proto":
            continue
        if PurePosixPath(path).suffix in SOURCE_SUFFIXES and (not rooms or parts[1] in rooms):
            yield path, parts[1], text


def package(files):
    """(path, syntax tree) of the modules of dygraph/ and static/."""
    for path, text in sorted(files.items()):
        if path.startswith(("dygraph/", "static/")) and path.endswith(".py"):
            yield path, ast.parse(text, path)


def matches(files, pattern, problem, *rooms, only=lambda path: True):
    """A problem for each place where the pattern is found outside comments and literals."""
    return [
        f"{path}:{line_of(text, found.start())}: {problem.format(found[0].strip())}"
        for path, _, text in cpp(files, *rooms)
        if only(path)
        for found in re.finditer(pattern, without_literals(text), re.MULTILINE)
    ]


# C++ ----------------------------------------------------------------------------------------------


def includes_follow_the_rooms(files):
    problems = []
    for path, room, text in cpp(files):
        if room not in ROOMS:
            problems.append(f"{path}: room {room}/ is not in the table of rooms")
            continue
        code = without_comments(text)
        for found in re.finditer(r'^\s*#\s*include\s*(["<])([^">]+)[">]', code, re.MULTILINE):
            where, name = f"{path}:{line_of(code, found.start())}", found[2]
            target = name.split("/")[0]
            if name == "Python.h" or target in ("pybind11", "numpy"):
                if room != "python":
                    problems.append(f"{where}: {name} belongs to python/ alone")
            elif target in ROOMS and "/" in name:
                if target != room and ROOMS[room] is not None and target not in ROOMS[room]:
                    problems.append(f"{where}: {room}/ may not include {name}")
            elif found[1] == '"':
                problems.append(f'{where}: "{name}" must be given from csrc/: "room/file.h"')
    return problems


def circles(edges):
    """The groups of names that reach each other over these edges, {name: names}; no recursion."""
    number, low, waiting, found = {}, {}, [], []
    for start in edges:
        path = [(start, iter(sorted(edges[start])))] if start not in number else []
        while path:
            name, rest = path[-1]
            if name not in number:
                number[name] = low[name] = len(number)
                waiting.append(name)
            for other in rest:
                if other not in number:
                    path.append((other, iter(sorted(edges.get(other, ())))))
                    break
                if other in waiting:
                    low[name] = min(low[name], number[other])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[name])
                if low[name] == number[name]:
                    group = waiting[waiting.index(name) :]
                    del waiting[waiting.index(name) :]
                    if len(group) > 1 or name in edges.get(name, ()):
                        found.append(sorted(group))
    return found


def includes_go_round_in_no_circle(files):
    """Neither headers alone nor, but for CIRCLES, headers taken together with their sources."""
    by_file, by_pair = {}, {}
    for path, _, text in cpp(files):
        name = path[len("csrc/") :]
        pair = name[: -len(PurePosixPath(name).suffix)]
        code = without_comments(text)
        for found in re.finditer(r'^\s*#\s*include\s*"([^"]+)"', code, re.MULTILINE):
            other = found[1][: -len(PurePosixPath(found[1]).suffix)]
            by_file.setdefault(name, set()).add(found[1])
            if other != pair:
                by_pair.setdefault(pair, set()).add(other)
    problems = [f"csrc/{group[0]}: a circle of {', '.join(group)}" for group in circles(by_file)]
    if not problems:
        for group in circles(by_pair):
            if set(group) not in CIRCLES:
                problems.append(
                    f"csrc/{group[0]}: with their sources in a circle: {', '.join(group)}"
                )
    return problems


def backends_need_no_ifdef(files):
    """A backend that was not built has registered nothing; only its own files ask for it."""
    problems = []
    for path, _, text in cpp(files):
        name = PurePosixPath(path)
        code = without_literals(text)
        for found in re.finditer(r"^\s*#\s*(if|ifdef|ifndef|elif)\b.*", code, re.MULTILINE):
            for switch in re.findall(r"\b(?:DYGRAPH_)?WITH_\w+|\b__CUDA\w+", found[0]):
                backend = "onednn" if switch.endswith("WITH_ONEDNN") else "cuda"
                own = backend in name.stem or (
                    backend == "cuda"
                    and (name.suffix in (".cu", ".cuh") or path.startswith("csrc/cuda/"))
                )
                if not own:
                    line = line_of(code, found.start(1))
                    problems.append(f"{path}:{line}: {switch} outside the files of its backend")
    return problems


def macros_only_register(files):
    problems = []
    for path, room, text in cpp(files):
        code = without_literals(text)
        for found in re.finditer(r"^\s*#\s*define\s+(\w+)(\(?)", code, re.MULTILINE):
            allowed = FUNCTION_MACROS if found[2] else ATTRIBUTE_MACROS
            if room == "operators":
                allowed = re.compile(r"REGISTER_\w+")
            if not allowed.fullmatch(found[1]):
                line = line_of(code, found.start(1))
                problems.append(f"{path}:{line}: a macro only registers, {found[1]} does not")
    return problems


def memory_comes_from_the_allocator(files):
    pattern = (
        r"\b(malloc|calloc|realloc|aligned_alloc|posix_memalign)\s*\("
        r"|\bnew\s+[\w:<>]+\s*\["
        r"|\bmake_(unique|shared)\s*<[^;(]*\[\s*\]\s*>"
    )
    return matches(files, pattern, "memory comes from memory/, not from {}", "kernels", "operators")


def headers_hold_no_state(files):
    """The bindings hide their symbols: a header's variable would exist once in each library.

    Pool keeps its lists in a header, being a template; so only .cc files of libdygraph use it.
    """
    pattern = (
        r"^[^\n]*(?<!extern )\bthread_local\b[^\n]*"
        r"|^\s*inline\s+(?!const|namespace)[\w:<>,*& ]+\s\w+\s*(=|;|\{)[^\n]*"
        r"|^\s+static\s+(?!const|inline|thread_local)[\w:<>,*& ]+\s\w+\s*(=|\{)[^\n]*"
    )
    rooms = set(ROOMS) - {"python"}
    pool = "csrc/base/pool.h"
    return matches(
        files,
        pattern,
        "a header defines the variable in `{}`; declare it there, define it in a .cc",
        *rooms,
        only=lambda path: path.endswith(".h") and path != pool,
    ) + matches(
        files,
        r"\bPool<[^\n]*",
        "the lists behind `{}` would exist twice; use Pool in .cc files of libdygraph",
        only=lambda path: path.startswith("csrc/python/") or (path.endswith(".h") and path != pool),
    )


def headers_say_what_they_are_for(files):
    problems = []
    for path, _, text in cpp(files):
        if path.endswith(".h"):
            if not text.startswith(("//", "/*")):
                problems.append(f"{path}: begins with no comment that says what the file is for")
            if not re.search(r"^#pragma once$", text, re.MULTILINE):
                problems.append(f"{path}: has no #pragma once")
    return problems


def headers_of_operators_have_names_of_their_own(files):
    """A header of operators/ is named for what it is, not as the loops in kernels/ it calls."""
    names = {PurePosixPath(path).name for path in files if re.match(r"csrc/kernels/.*\.h$", path)}
    return [
        f"{path}: csrc/kernels/{PurePosixPath(path).name} has its name"
        for path in files
        if re.match(r"csrc/operators/.*\.h$", path) and PurePosixPath(path).name in names
    ]


def no_using_namespace(files):
    return matches(files, r"^using namespace[^\n]*", "{} at file scope")


def statics_need_no_interpreter(files):
    """Who waits for another's static holds the interpreter's lock, which that one needs."""
    pattern = r"^[ \t]+static\b[^;(){}]*=[^;]*\b(?:py::|Py[A-Z_])[\w:]*\([^;]*;"
    problem = "{}: made by Python inside a function"
    return matches(files, pattern, problem, "python")


def messages_speak(files):
    """Every ENFORCE and THROW has a message with enough words of its own."""
    problems = []
    for path, _, text in cpp(files):
        code = re.sub(
            r"^[ \t]*#[ \t]*define(\\\n|[^\n])*",
            lambda m: re.sub(r"[^\n]", " ", m[0]),
            without_comments(text),
            flags=re.MULTILINE,
        )
        plain = without_literals(code)
        for found in re.finditer(r"\b(ENFORCE|THROW)\s*\(", plain):
            message = arguments(code, plain, found.end())[2 if found[1] == "ENFORCE" else 1 :]
            words = sum(len(m[0]) - 2 for m in TOKEN.finditer(",".join(message)) if m["string"])
            if words < MESSAGE_LENGTH:
                line = line_of(plain, found.start())
                problems.append(
                    f"{path}:{line}: the message of {found[1]} has {words} characters of text, "
                    f"it needs {MESSAGE_LENGTH}: the rule, what came, a hint"
                )
    return problems


def arguments(code, plain, start):
    """The arguments of a call whose parenthesis opens just before start; plain has no literals."""
    depth, begin, result = 1, start, []
    for at in range(start, len(plain)):
        if plain[at] in "([{":
            depth += 1
        elif plain[at] in ")]}":
            depth -= 1
            if depth == 0:
                return [*result, code[begin:at]]
        elif plain[at] == "," and depth == 1:
            result.append(code[begin:at])
            begin = at + 1
    return result


def an_operator_is_one_file(files):
    """activation/relu_op.cc, its siblings relu_op_onednn.cc and relu_op.cu; headers serve one
    family in its folder, several in operators/ itself, and may have a .cc of that name beside them.
    """
    return [
        f"{path}: must be called <family>/<name>_op.cc (<name>_op_<library>.cc, <name>_op.cu)"
        for path, _, _ in cpp(files, "operators")
        if str(PurePosixPath(path).with_suffix(".h")) not in files
        and not re.fullmatch(
            r"csrc/operators/([a-z]+/[a-z0-9_]+_op(_onednn|_cuda)?\.(cc|cu)"
            r"|([a-z]+/)?[a-z0-9_]+\.(h|cuh))",
            path,
        )
    ]


def functions_exist_once(files):
    """A function with one name and one body in two files belongs in a header of both.

    Bodies that name constants (kX) say different things in different files. Headers of csrc/cuda/
    stand in for others, so that they may repeat them.
    """
    first, problems = {}, []
    for path, room, text in cpp(files):
        if room == "cuda":
            continue
        name, start, body = "", 0, []
        for number, line in enumerate(without_comments(text).splitlines(), 1):
            if name and line != "}":
                body.append(line.strip())
            elif name:
                words = " ".join(body)
                owner = first.setdefault((name, words), path)
                if owner != path and len(words) >= 40 and not re.search(r"\bk[A-Z]", words):
                    problems.append(f"{path}:{start}: {name} stands in {owner} too")
                name = ""
            elif line.endswith(" {") and (found := re.match(r"\w[^(=]*[ *&](\w+)\(", line)):
                name, start, body = found[1], number, []
    return problems


def the_map_names_every_room(files):
    rooms = {PurePosixPath(path).parts[1] for path, _, _ in cpp(files)}
    text = files.get("csrc/README.md", "")
    return [
        f"csrc/README.md: no line for {room}/"
        for room in sorted(rooms)
        if f"| `{room}/` |" not in text
    ]


# Python -------------------------------------------------------------------------------------------


def imported(node):
    """The absolute names a node imports, by statement or by importlib."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{a.name}" for a in node.names] if node.level == 0 else []
    if isinstance(node, ast.Call) and called(node) in ("import_module", "__import__"):
        first = node.args[0] if node.args else None
        return [first.value] if isinstance(first, ast.Constant) else []
    return []


def called(node):
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def imports(tree):
    """(line, name, lazy): lazy imports stand in a function or under TYPE_CHECKING."""
    waiting = [(tree, False)]
    while waiting:
        node, lazy = waiting.pop()
        for name in imported(node):
            yield node.lineno, name, lazy
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            lazy = True
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            lazy = True
        waiting.extend((child, lazy) for child in ast.iter_child_nodes(node))


def python_imports_follow_the_order(files):
    """dygraph imports dygraph.static in functions of __init__, jit and codegen; both only numpy."""
    problems = []
    for path, tree in package(files):
        door = re.match(r"dygraph/(__init__\.py|jit\.py|jit/|codegen/)", path)
        for line, name, lazy in imports(tree):
            parts = name.split(".")
            ours = path.startswith("dygraph/") and parts[:2] == ["dygraph", "static"]
            if (ours and not (door and lazy)) or parts[0] == "static":
                where = "dygraph.static is imported in functions of __init__, jit and codegen"
                problems.append(f"{path}:{line}: {where}, never as static")
            known = parts[0] in {"dygraph", "static", "numpy", *sys.stdlib_module_names}
            if not known and not lazy:
                problems.append(f"{path}:{line}: {name} is not a requirement; import it where used")
    return problems


def modules_stand_in_rooms(files):
    """A module beside the rooms has a name that users import; a room says what it holds."""
    problems = []
    for path, tree in package(files):
        parts = PurePosixPath(path).with_suffix("").parts
        if parts[0] != "dygraph":
            continue
        if parts[1] not in (PUBLIC_MODULES if len(parts) == 2 else PYTHON_ROOMS):
            problems.append(f"{path}: belongs into a room of the table, such as dygraph/core/")
        elif parts[2:] == ("__init__",) and not ast.get_docstring(tree):
            problems.append(f"{path}: has no docstring that says what the room holds")
    return problems


def modules_form_no_circle(files):
    """In dygraph/ by the imports that run while a module loads, in static/ by all of them: there
    imports in functions would only hide a circle."""
    modules = {}
    for path, tree in package(files):
        name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        modules[name if path.startswith("dygraph/") else f"dygraph.{name}"] = path, tree
    edges = {module: set() for module in modules}
    for module, (path, tree) in modules.items():
        for _, name, lazy in imports(tree):
            if name.startswith("dygraph._core") or (lazy and path.startswith("dygraph/")):
                continue
            name = name if name in modules else name.rpartition(".")[0]
            edges[module] |= {name} & modules.keys()
    groups = circles(edges)
    return [f"{modules[g[0]][0]}: modules in a circle: {', '.join(g)}" for g in groups]


def modules_write_no_globals(files):
    """Names stand in the text, in a table, or come of a module's __getattr__."""
    problems = []
    for path, tree in package(files):
        if path in ("dygraph/ops.py", "dygraph/__init__.py"):  # for calls of 0.1 us
            continue
        for node in ast.walk(tree):
            uses = node.args if isinstance(node, ast.Call) else []
            if isinstance(node, ast.Subscript):
                uses = [node.value]
            elif isinstance(node, ast.Attribute) and node.attr not in ("items", "keys", "values"):
                uses = [node.value]
            if any(isinstance(use, ast.Call) and called(use) == "globals" for use in uses):
                problems.append(f"{path}:{node.lineno}: names are not written into globals()")
    return problems


def nothing_runs_foreign_code(files):
    """What SECURITY.md promises: no code out of files, no shell, no archive unpacked."""
    modules = {
        "pickle",
        "_pickle",
        "cPickle",
        "dill",
        "cloudpickle",
        "marshal",
        "shelve",
        "tarfile",
    }
    calls = {"eval", "exec", "system", "popen", "extractall", "unpack_archive"}
    problems = []
    for path, tree in package(files):
        for line, name, _ in imports(tree):
            if name.split(".")[0] in modules:
                problems.append(f"{path}:{line}: imports {name}")
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            where, text = f"{path}:{node.lineno}", ast.unparse(node.func)
            bare = isinstance(node.func, ast.Name)
            name = called(node)
            # layer.eval() is a method of ours; the builtin is called bare or through its module.
            own = name in ("eval", "exec") and not bare and not text.startswith("builtins.")
            if (name in calls and not own) or text == "yaml.load":
                problems.append(f"{where}: calls {text}")
            for keyword in node.keywords:
                if (
                    keyword.arg in ("shell", "allow_pickle")
                    and ast.unparse(keyword.value) != "False"
                ):
                    problems.append(f"{where}: {keyword.arg}={ast.unparse(keyword.value)}")
    return problems


# Both ---------------------------------------------------------------------------------------------


def first_comment(path, text):
    if path.endswith(".py"):
        return ast.get_docstring(ast.parse(text)) or ""
    return re.match(r"(\s*//[^\n]*\n|\s*/\*.*?\*/)*", text, re.DOTALL)[0]


def files_are_short(files):
    problems = []
    for path, text in sorted(files.items()):
        if PurePosixPath(path).suffix not in SOURCE_SUFFIXES:
            continue
        lines = text.count("\n")
        if lines > TOO_LONG:
            problems.append(f"{path}: {lines} lines, more than {TOO_LONG}")
        elif lines > LONG and "lines because" not in first_comment(path, text):
            problems.append(
                f"{path}: {lines} lines: the first comment must say '... lines because ...'"
            )
    return problems


def kernel_aliases_have_names_of_their_own(files):
    """A template handed to REGISTER_*_KERNEL: GCC takes two of one name for the same, also in
    namespaces without a name of different files, and runs the kernel of either for both."""
    pattern = r"template\s*<[^;{}]*>\s*(?:using\s+(\w+)\s*=|struct\s+(\w+)\s*\{)"
    first, problems = {}, []
    for path, _, text in cpp(files, "operators"):
        if path.endswith(".h"):
            continue
        code = without_literals(text)
        for found in re.finditer(pattern, code):
            name = found[1] or found[2]
            if found[2] and not re.search(rf"\bREGISTER_\w*KERNEL\([^;]*\b{name}\b", code):
                continue
            owner = first.setdefault(name, path)
            if owner != path:
                problems.append(
                    f"{path}:{line_of(code, found.start())}: {name} is a name of {owner} too"
                )
    return problems


RULES = [
    includes_follow_the_rooms,
    includes_go_round_in_no_circle,
    backends_need_no_ifdef,
    macros_only_register,
    memory_comes_from_the_allocator,
    headers_hold_no_state,
    headers_say_what_they_are_for,
    headers_of_operators_have_names_of_their_own,
    no_using_namespace,
    statics_need_no_interpreter,
    messages_speak,
    an_operator_is_one_file,
    functions_exist_once,
    kernel_aliases_have_names_of_their_own,
    the_map_names_every_room,
    python_imports_follow_the_order,
    modules_stand_in_rooms,
    modules_form_no_circle,
    modules_write_no_globals,
    nothing_runs_foreign_code,
    files_are_short,
]
