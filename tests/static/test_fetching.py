"""Fetching in every n-th run, and fetches in a profile."""

import numpy as np
import pytest

import dygraph
from dygraph import static


@pytest.fixture
def counter():
    """A program that counts its runs, an executor, and the variable."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), static.scope_guard(static.Scope()):
        count = static.layers.autoincreased_step_counter()
        exe = static.Executor()
        exe.run(startup)
        yield main, exe, count


def test_every_third_run(counter):
    main, exe, count = counter
    found = [exe.run(main, fetch_list=[count, count], fetch_every=3) for _ in range(7)]
    nothing = [None, None]
    assert found == [nothing, nothing, [3, 3], nothing, nothing, [6, 6], nothing]
    assert exe.run(main, fetch_list=[count]) == [8]  # every run went through
    assert exe.run(main, fetch_every=2) == []
    for wrong, error in ((0, ValueError), ("2", TypeError)):
        with pytest.raises(error, match="Executor.run: fetch_every must be"):
            exe.run(main, fetch_list=[count], fetch_every=wrong)


def test_a_profile_counts_the_fetches(counter):
    main, exe, count = counter
    with dygraph.profiler.Profiler() as seen:
        for _ in range(6):
            exe.run(main, fetch_list=[count], fetch_every=2)
        exe.run(main)
    rows = {row.name: row.calls for row in seen.summary()}
    assert rows["fetch"] == 3 and rows["increment"] == 7


def test_selected_rows_reach_a_scope(counter):
    variable = static.Scope().var("g")
    rows = variable.get_selected_rows()
    rows.set_height(4)
    rows.set_rows([2, 0])
    assert variable.is_empty()
    rows.get_tensor().set(np.array([[1.0, 2.0], [3.0, 4.0]], "float32"), static.CPUPlace())
    dense = [[3.0, 4.0], [0.0, 0.0], [1.0, 2.0], [0.0, 0.0]]
    assert variable.get().to_dense().tolist() == dense
    again = variable.get_selected_rows()
    assert (again.rows(), again.height()) == ([2, 0], 4)
    again.set_rows([3, 3])
    assert variable.get().to_dense().tolist()[3] == [4.0, 6.0]
    with pytest.raises(RuntimeError, match="must be filled by get_tensor"):
        static.core.SelectedRows([0], 1).value()
    other = static.Scope().var("t")
    other.set(dygraph.ones([2]))
    with pytest.raises(RuntimeError, match=r"must hold selected rows or nothing, .* \[2\]"):
        other.get_selected_rows()


def test_versions_and_devices():
    static.require_version("1.6")
    static.require_version("1.6.0", "1.8.5")
    with pytest.raises(ValueError, match="at least 2.0, got 1.8.5. Names of Paddle 2 are in"):
        static.require_version("2.0")
    with pytest.raises(ValueError, match="at most 1.7, got 1.8.5"):
        static.require_version("1.5", "1.7")
    with pytest.raises(ValueError, match="up to four numbers, as '1.8.5', got 'new'"):
        static.require_version("new")
    with pytest.raises(TypeError, match="min_version must be a string, got float 1.6"):
        static.require_version(1.6)
    if not static.is_compiled_with_cuda():
        with pytest.raises(RuntimeError, match="Use cpu_places"):
            static.cuda_places()
    assert static.core.VarDesc.VarType.FP32 == dygraph.float32
    with pytest.raises(AttributeError, match="Did you mean 'VarDesc'"):
        static.core.VarDes  # noqa: B018
