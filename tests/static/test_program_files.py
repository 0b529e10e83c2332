"""Operators of programs that use files, end variables, feed and fetch."""

import os
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import dygraph
from dygraph import errors, static

W = np.array([[1.5, -2.0], [3.0, 4.0]], "float32")


def program_that_saves(path, op="save", **attrs):
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", [2, 2], "float32")
        y = x * 2.0
        block = main.global_block()
        block.append_op(op, {"X": [y]}, {}, {"file_path": str(path), **attrs})
    return main


def reloaded(program):
    return static.Program.parse_from_string(program.serialize_to_string())


def test_save_and_load_in_programs(tmp_path):
    main = program_that_saves("sub/y")
    exe = static.Executor(files=tmp_path)
    exe.run(main, {"x": W})
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["sub", "y"]
    load = static.Program()
    with static.program_guard(load, static.Program()):
        out = static.layers.create_tensor("float32")
        static.layers.load(out, "sub/y")
    for program in (load, reloaded(load)):
        (got,) = exe.run(program, fetch_list=[out.name])
        assert got.tolist() == [[3.0, -4.0], [6.0, 8.0]] and got.dtype == "float32"


def test_they_read_what_save_vars_writes_and_the_other_way(tmp_path):
    main, scope = static.Program(), static.Scope()
    block = main.global_block()
    names = {"b": [1, 2], "a": [3.5]}
    for name, value in names.items():
        block.create_var(name=name, shape=np.shape(value), dtype=np.asarray(value).dtype,
                         persistable=True)  # fmt: skip
    block.append_op("load_combine", {}, {"Out": ["a", "b"]}, {"file_path": "all"})
    variables = [main.global_block().var(n) for n in ("a", "b")]
    for name, value in names.items():
        scope.var(name).set(np.asarray(value))
    static.io.save_vars(None, str(tmp_path), main, variables, filename="all", scope=scope)
    other = static.Scope()
    static.Executor(files=str(tmp_path)).run(main, scope=other)
    assert {n: other.find_var(n).get().tolist() for n in names} == names
    save = static.Program()
    for v in variables:
        save.global_block().create_var(name=v.name, shape=v.shape, dtype=v.dtype, persistable=True)
    attrs = {"file_path": str(tmp_path / "again")}  # an absolute path in the directory
    save.global_block().append_op("save_combine", {"X": ["a", "b"]}, {}, attrs)
    static.Executor(files=str(tmp_path)).run(save, scope=other)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "all").read_bytes()


@pytest.mark.parametrize("op", ["save", "save_combine"])
def test_a_program_may_not_choose_files(tmp_path, op):
    path = tmp_path / "y"
    for program in (main := program_that_saves(path, op), reloaded(main), main.clone()):
        with pytest.raises(
            errors.PreconditionNotMetError,
            match=rf"^{op}: the program must be allowed to use files, and '{re.escape(str(path))}' "
            r"is one\. Say in which directory it may: static\.Executor\(files='directory'\) "
            r"\(operator 1 of block 0",
        ):
            static.Executor().run(program, {"x": W})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", ["../y", "/etc/y", "a/../../y", "link/y"])
def test_nor_leave_the_directory(tmp_path, where):
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir(), outside.mkdir()
    (inside / "link").symlink_to(outside)
    program = reloaded(program_that_saves(where))
    with pytest.raises(errors.DygraphError, match="^save: .*(must lie in|no symbolic link)"):
        static.Executor(files=inside).run(program, {"x": W})
    assert list(outside.iterdir()) == [] and sorted(os.listdir(tmp_path)) == ["in", "out"]


def test_nor_say_the_directory_itself(tmp_path):
    inside = tmp_path / "in"
    inside.mkdir()
    program = reloaded(program_that_saves(tmp_path / "y", within=str(tmp_path)))
    with pytest.raises(errors.PreconditionNotMetError, match="must be allowed"):
        static.Executor().run(program, {"x": W})
    with pytest.raises(errors.InvalidArgumentError, match="must lie in '.*in'"):
        static.Executor(files=inside).run(program, {"x": W})
    assert os.listdir(tmp_path) == ["in"]


def test_a_block_is_looked_into(tmp_path):
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", [2, 2], "float32")
        never = static.layers.fill_constant([1], "bool", False)

        def write():
            block = main.current_block()
            block.append_op("save", {"X": [x]}, {}, {"file_path": str(tmp_path / "x")})

        static.layers.cond(never, write, None)
    with pytest.raises(errors.PreconditionNotMetError, match=r"^save: .* of block 1"):
        static.Executor().run(reloaded(main), {"x": W})
    static.Executor(files=tmp_path).run(main, {"x": W})
    assert os.listdir(tmp_path) == []


def test_a_loaded_model_may_not_either(tmp_path):
    main = program_that_saves(tmp_path / "stolen")
    model = tmp_path / "model"
    model.mkdir()
    (model / "__model__").write_bytes(main.serialize_to_string())
    program = static.Program.parse_from_string((model / "__model__").read_bytes())
    with pytest.raises(errors.PreconditionNotMetError, match="^save: .*stolen"):
        static.Executor().run(program, {"x": W})
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize(
    ("files", "error"), [("", ValueError), (3, TypeError), (b"x", TypeError), ("a\0", ValueError)]
)
def test_what_is_no_directory(files, error):
    with pytest.raises(error, match=r"^Executor: files"):
        static.Executor(files=files)


def test_a_directory_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^save: .*none"):
        static.Executor(files=tmp_path / "none").run(program_that_saves("y"), {"x": W})


def test_a_killed_save_leaves_the_old_file(tmp_path):
    """Killed again and again in the middle, the file is always one of the two whole ones."""
    script = textwrap.dedent(
        """
        import sys
        import numpy as np
        from dygraph import run_op, to_variable
        both = [to_variable(np.full(400_000, k, "float32")) for k in (1, 2)]
        print("ready", flush=True)
        for k in range(10**9):
            run_op("save", {"X": both[k % 2]}, {"file_path": sys.argv[1]})
        """
    )
    path = tmp_path / "w"
    for wait in (0.01, 0.05, 0.12):
        run = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE)
        assert run.stdout.readline() == b"ready\n"
        while not path.exists():
            pass
        with pytest.raises(subprocess.TimeoutExpired):
            run.wait(wait)
        run.kill()
        run.wait()
        got = dygraph.run_op("load", {}, {"file_path": str(path)})["Out"].numpy()
        assert got.shape == (400_000,) and got.min() == got.max() and got[0] in (1, 2)


# delete_var ---------------------------------------------------------------------------------------


def deleting(reads_after=False, writes_after=False):
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", [2, 2], "float32")
        y = x * 2.0
        z = y + 1.0
        block = main.global_block()
        block.append_op("delete_var", {"X": [y]}, {}, {})
        if writes_after:
            block.append_op("scale", {"X": [x]}, {"Out": [y]}, {"scale": 5.0})
        if reads_after:
            z = y * 1.0
    return main, y, z


def test_delete_var_changes_nothing_that_is_used():
    main, _, z = deleting()
    assert static.Executor().run(main, {"x": W}, [z])[0].tolist() == (W * 2 + 1).tolist()
    main, _, z = deleting(reads_after=True, writes_after=True)
    assert static.Executor().run(main, {"x": W}, [z])[0].tolist() == (W * 5).tolist()


def test_a_read_after_delete_var_is_refused():
    main, y, z = deleting(reads_after=True)
    with pytest.raises(
        errors.PreconditionNotMetError,
        match=rf"'{y.name}' must be written anew before scale reads it, since delete_var ended it",
    ):
        static.Executor().run(main, {"x": W}, [z])
    main, y, _ = deleting()
    with pytest.raises(errors.PreconditionNotMetError, match="delete_var ended it"):
        static.Executor().run(main, {"x": W}, [y])


def test_delete_var_in_a_loop_ends_a_variable_outside():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", [2, 2], "float32")
        y = x * 2.0
        i = static.layers.fill_constant([1], "int64", 0)
        n = static.layers.fill_constant([1], "int64", 2)
        total = static.layers.zeros([2, 2], "float32")
        going = static.layers.less_than(i, n)
        loop = static.layers.While(going)
        with loop.block():
            static.layers.assign(total + y, total)
            main.current_block().append_op("delete_var", {"X": [y]}, {}, {})
            static.layers.increment(i, 1, in_place=True)
            static.layers.less_than(i, n, cond=going)
    with pytest.raises(errors.PreconditionNotMetError, match="iteration 1 of the while"):
        static.Executor().run(main, {"x": W}, [total])


def test_delete_var_leaves_persistable_variables():
    main, scope = static.Program(), static.Scope()
    main.global_block().create_var(name="w", shape=[2, 2], dtype="float32", persistable=True)
    main.global_block().append_op("delete_var", {"X": ["w"]}, {}, {})
    scope.var("w").set(W)
    static.Executor().run(main, scope=scope)
    assert scope.find_var("w").get().tolist() == W.tolist()


# feed and fetch -----------------------------------------------------------------------------------


def holding(order, feed_type="FEED_MINIBATCH", block=0):
    """A program of operators by letter: f feed of x, g fetch of y, s y = 2x, i y += 1, t x *= 1."""
    main = static.Program()
    with static.program_guard(main, static.Program()):
        where = main.global_block()
        where.create_var(name="feed", type=feed_type, persistable=True)
        where.create_var(name="fetch", type="FETCH_LIST", persistable=True)
        for name in "xy":
            where.create_var(name=name, shape=[2, 2], dtype="float32")
        makes = {
            "f": ("feed", {"X": ["feed"]}, {"Out": ["x"]}, {"col": 0}),
            "g": ("fetch", {"X": ["y"]}, {"Out": ["fetch"]}, {"col": 0}),
            "s": ("scale", {"X": ["x"]}, {"Out": ["y"]}, {"scale": 2.0}),
            "i": ("scale", {"X": ["y"]}, {"Out": ["y"]}, {"bias": 1.0}),
            "t": ("scale", {"X": ["x"]}, {"Out": ["x"]}, {"scale": 1.0}),
        }
        for letter in order:
            where.append_op(*makes[letter])
    return main


def test_feed_and_fetch_operators_say_what_run_takes_and_gives():
    for program in (main := holding("fsig"), reloaded(main)):
        assert static.Executor().run(program, {"x": W})[0].tolist() == (W * 2 + 1).tolist()
        assert static.Executor().run(program, [W])[0].tolist() == (W * 2 + 1).tolist()
        assert static.Executor().run(program, {"x": W}, ["x"])[0].tolist() == W.tolist()
        with pytest.raises(errors.InvalidArgumentError, match="must be fed \\['x'\\]"):
            static.Executor().run(program)


@pytest.mark.parametrize(
    ("order", "text"),
    [
        ("fsgi", r"^scale: it must stand before the fetch of 'y', which it writes \(operator 3"),
        ("tfsg", r"^feed: it must stand before the operators that use 'x' \(operator 1"),
        ("sfg", r"^feed: it must stand before the operators that use 'x' \(operator 1"),
    ],
)
def test_an_order_that_would_give_other_values_is_refused(order, text):
    with pytest.raises(errors.FormatError, match=text):
        static.Executor().run(reloaded(holding(order)), {"x": W})


def test_holders_are_of_their_types():
    with pytest.raises(errors.FormatError, match="^feed: X must be of the type FEED_MINIBATCH, "):
        static.Executor().run(reloaded(holding("fsg", "FETCH_LIST")), {"x": W})
