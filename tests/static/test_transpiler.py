"""Programs of trainers and servers: their operators are those that Paddle 2.6.2 makes."""

import numpy as np
import pytest

from dygraph import lr, nn, static, to_variable
from dygraph.core.sparse import selected_rows
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    PreconditionNotMetError,
    UnimplementedError,
)
from dygraph.static import layers
from dygraph.static.transpiler import HashName, RoundRobin, calls, serving
from dygraph.static.transpiler.parts import part_sizes

SERVERS = ["127.0.0.1:6174", "127.0.0.1:6175"]


def model(optimizer=None, sparse=False, distributed=False, seed=0):
    """fc 1200 -> 20 -> 1, with a table of 1000 x 16 beside the input if it is sparse."""
    main, startup = static.Program(), static.Program()
    main.random_seed = startup.random_seed = seed
    with static.program_guard(main, startup), static.unique_name.guard():
        x, y = static.data("x", [None, 1200]), static.data("y", [None, 1])
        if sparse:
            ids = static.data("ids", [None], "int64")
            rows = static.embedding(ids, [1000, 16], True, distributed, param_attr="emb")
            x = layers.concat([x, rows], 1)
        h = layers.fc(x, 20, param_attr="w", bias_attr="b")
        loss = layers.mean(
            layers.square_error_cost(layers.fc(h, 1, param_attr="w2", bias_attr="b2"), y)
        )
        (optimizer or (lambda: static.optimizer.SGD(0.1)))().minimize(loss)
    return main, startup


def transpiled(program, trainer_id=0, trainers=2, sync=True, config=None):
    main, startup = program
    made = static.DistributeTranspiler(config)
    made.transpile(trainer_id, main, ",".join(SERVERS), trainers, sync, startup)
    return made


def lines(block, start=0):
    """``results = type(inputs)`` of each operator; variables that only order are left out."""

    def names(slots):
        found = [n for names in slots.values() for n in names if "CONTROL" not in n]
        return ", ".join(found)

    return [f"{names(op.outputs)} = {op.type}({names(op.inputs)})" for op in block.ops[start:]]


# Read from the programs of Paddle 2.6.2 (paddle.distributed.transpiler) for the same model.
EXCHANGE = [
    " = send_barrier()",
    "b = recv()",
    "b2 = recv()",
    "w.block0, w.block1 = recv()",
    "w2 = recv()",
    "b, b2, w.block0, w.block1, w2 = fetch_barrier()",
    "w = concat(w.block0, w.block1)",
]
SENDS = [
    " = send(b2@GRAD.trainer_0)",
    " = send(w2@GRAD.trainer_0)",
    " = send(b@GRAD.trainer_0)",
    "w@GRAD.block0.trainer_0, w@GRAD.block1.trainer_0 = split_byref(w@GRAD)",
    " = send(w@GRAD.block0.trainer_0, w@GRAD.block1.trainer_0)",
]
SPARSE_SERVER = [
    ["b@GRAD = sum(b@GRAD.trainer_0, b@GRAD.trainer_1)", "b@GRAD = scale(b@GRAD)"],
    ["emb@GRAD = sum(emb@GRAD.trainer_0, emb@GRAD.trainer_1)", "emb@GRAD = scale(emb@GRAD)"],
    [
        "w@GRAD.block1 = sum(w@GRAD.block1.trainer_0, w@GRAD.block1.trainer_1)",
        "w@GRAD.block1 = scale(w@GRAD.block1)",
    ],
]


def test_a_trainer_sends_each_gradient_and_receives_the_parameters():
    main, startup = program = model()
    before = main.serialize_to_string(), startup.serialize_to_string(), main.version
    made = transpiled(program)
    trainer = made.get_trainer_program()
    assert before == (main.serialize_to_string(), startup.serialize_to_string(), main.version)
    block = trainer.global_block()
    found = [line for line in lines(block) if "send(" in line or "split_byref" in line]
    assert found == SENDS
    assert lines(block)[-7:] == EXCHANGE
    split, send = block.ops[-9:-7]
    assert split.attr("sections") == [600, 600] and split.role == 8 and send.role == 4
    assert send.attr("epmap") == SERVERS and send.attr("op_role_var") == ["w", "w@GRAD"]
    sent = trainer.serialize_to_string()
    assert static.Program.parse_from_string(sent).serialize_to_string() == sent
    assert lines(made.get_trainer_program().global_block()) == lines(block)
    test = trainer.clone(for_test=True)
    assert {op.role for op in test.global_block().ops} <= {0, 256}


def test_the_startup_program_of_a_trainer_receives_the_parameters():
    block = transpiled(model()).get_trainer_startup_program().global_block()
    assert lines(block)[-6:] == [*EXCHANGE[1:5], " = fetch_barrier()", EXCHANGE[6]]
    assert "learning_rate_0" not in block.vars


def test_a_server_has_a_block_for_each_part():
    made = transpiled(model(lambda: static.optimizer.Adam(0.1), sparse=True))
    server = made.get_pserver_program(SERVERS[0])
    listen = server.global_block().ops[0]
    assert len(server.global_block().ops) == 1 and listen.type == "listen_and_serv"
    assert listen.input("X") == [
        "b@GRAD.trainer_0", "b@GRAD.trainer_1", "emb@GRAD.trainer_0", "emb@GRAD.trainer_1",
        "w@GRAD.block1.trainer_0", "w@GRAD.block1.trainer_1",
    ]  # fmt: skip
    assert listen.attr("optimize_blocks") == [1, 2, 3] and listen.attr("Fanin") == 2
    assert listen.attr("grad_to_block_id") == ["b@GRAD:1", "emb@GRAD:2", "w@GRAD.block1:3"]
    assert listen.attr("sparse_grad_to_param") == ["emb@GRAD:emb"]
    assert listen.attr("lr_decay_block_id") == -1
    assert [lines(b)[:2] for b in server.blocks[1:]] == SPARSE_SERVER
    adam = server.block(3).ops[2]
    assert adam.input("Param") == ["w.block1"] and adam.input("Moment1") == ["w_moment1_0"]
    assert server.global_block().var("w_moment1_0").shape == (608, 20)
    assert server.global_block().var("w_beta1_pow_acc_0").shape == (1,)
    assert server.block(1).ops[1].attr("scale") == 0.5
    lookup = made.get_trainer_program().global_block().ops[0]
    assert lookup.type == "distributed_lookup_table"
    assert (lookup.attr("table_names"), lookup.attr("endpoints")) == (["emb"], [SERVERS[0]])


def test_learning_rates_have_a_block_that_runs_first():
    def optimizer():
        return static.optimizer.SGD(layers.piecewise_decay([2, 4], [0.3, 0.2, 0.1]))

    server = transpiled(model(optimizer)).get_pserver_program(SERVERS[1])
    listen = server.global_block().ops[0]
    assert listen.attr("lr_decay_block_id") == 1 and listen.attr("optimize_blocks")[0] == 1
    assert server.block(1).ops[0].type == "increment"
    assert all(op.role == static.OpRole.LRSched for op in server.block(1).ops)
    trainer = transpiled(model(optimizer), sync=False).get_trainer_program().global_block()
    assert trainer.ops[0].type == "increment"  # the steps of this trainer
    types = [op.type for op in trainer.ops]
    assert "send_barrier" not in types and "fetch_barrier" not in types
    assert trainer.ops[types.index("recv") - 1].input("X") == ["@LR_DECAY_COUNTER@"]


def test_servers_begin_with_the_values_of_one_process():
    program = model(seed=7)
    made, scope = transpiled(program), static.Scope()
    whole = static.Scope()
    static.Executor().run(program[1].clone(), scope=whole)
    w = whole.find_var("w").get().numpy()
    for k, server in enumerate(SERVERS):
        static.Executor().run(made.get_startup_program(server), scope=scope)
        part = scope.find_var(f"w.block{k}").get().numpy()
        np.testing.assert_array_equal(part, w[600 * k : 600 * (k + 1)])


def test_sizes_of_parts():
    assert part_sizes([1200, 20], 2, 8192) == [600, 600]
    assert part_sizes([1216, 20], 2, 8192) == [608, 608]
    assert part_sizes([10, 10], 2, 8192) == [10]
    assert part_sizes([7, 3], 4, 1) == [2, 2, 2, 1]
    assert part_sizes([30000], 4, 8192) == [10000, 10000, 10000]


def test_parts_go_to_servers_in_turns_or_by_name():
    class Named:
        def __init__(self, name):
            self.name = name

    parts = [Named(f"w.block{i}") for i in range(4)]
    turns = RoundRobin(["a", "b", "c"])
    assert turns.dispatch(parts) == ["a", "b", "c", "a"]
    assert turns.dispatch(parts[:1]) == ["b"]
    turns.reset()
    assert turns.dispatch(parts[:1]) == ["a"]
    by_name = HashName(["a", "b"])
    assert by_name.dispatch(parts) == by_name.dispatch(parts)
    config = static.DistributeTranspilerConfig()
    config.split_method, config.min_block_size = HashName, 1
    made = transpiled(model(lambda: static.optimizer.Adam(0.1)), config=config)
    for server in SERVERS:  # two parts of a parameter on one server have states of their own
        program = made.get_pserver_program(server)
        params = [b.ops[-1].input("Param")[0] for b in program.blocks[1:]]
        moments = [b.ops[-1].input("Moment1")[0] for b in program.blocks[1:]]
        assert len(set(params)) == len(set(moments)) == len(params)


# What is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("optimizer", "text"),
    [
        (
            lambda: static.optimizer.SGD(0.1, grad_clip=nn.ClipGradByGlobalNorm(1.0)),
            "the gradient of that parameter alone",
        ),
        (lambda: static.optimizer.SGD(lr.StepDecay(0.1, 3)), "StepDecay, whose steps"),
        (lambda: static.optimizer.LookaheadOptimizer(static.optimizer.SGD(0.1)), "after or beside"),
    ],
)
def test_what_cannot_be_divided_is_named(optimizer, text):
    with pytest.raises(UnimplementedError, match=text):
        transpiled(model(optimizer))


def test_updates_by_a_norm_keep_parameters_whole():
    made = transpiled(model(lambda: static.optimizer.LarsMomentum(0.1, 0.9)))
    assert "concat" not in [op.type for op in made.get_trainer_program().global_block().ops]
    clip = lambda: static.optimizer.SGD(0.1, grad_clip=nn.ClipGradByNorm(1.0))  # noqa: E731
    made = transpiled(model(clip))
    assert "squared_l2_norm" in [
        op.type for b in made.get_pserver_program(SERVERS[0]).blocks[1:] for op in b.ops
    ]


def test_values_that_no_server_sends_must_be_equal_on_all_trainers():
    frozen = static.ParamAttr("f", trainable=False)
    for seed in (0, 3):
        main, startup = static.Program(), static.Program()
        startup.random_seed = seed
        with static.program_guard(main, startup):
            h = layers.fc(static.data("x", [None, 2]), 3, param_attr=frozen)
            static.optimizer.SGD(0.1).minimize(layers.mean(h))
        made = transpiled((main, startup))
        if seed:
            assert "f" in made.get_trainer_startup_program().global_block().vars
            continue
        with pytest.raises(InvalidArgumentError, match="'f' is not trained"):
            made.get_trainer_startup_program()


def test_arguments_are_checked():
    program = model()
    with pytest.raises(PreconditionNotMetError, match="transpile"):
        static.DistributeTranspiler().get_trainer_program()
    with pytest.raises(InvalidArgumentError, match="trainer_id"):
        transpiled(program, trainer_id=2)
    with pytest.raises(InvalidArgumentError, match="different names"):
        static.DistributeTranspiler().transpile(0, program[0], "a,a", startup_program=program[1])
    with pytest.raises(InvalidArgumentError, match="one of the servers"):
        transpiled(program).get_pserver_program("other")
    with pytest.raises(ArgumentTypeError, match="config"):
        static.DistributeTranspiler("pserver")
    with pytest.raises(InvalidArgumentError, match="without updates"):
        transpiled((static.Program(), static.Program()))
    config = static.DistributeTranspilerConfig()
    for name, value, error in (
        ("mode", "servers", InvalidArgumentError),
        ("geo_sgd_mode", True, UnimplementedError),
        ("min_block_sizes", 3, InvalidArgumentError),
        ("runtime_split_send_recv", True, InvalidArgumentError),
        ("split_method", "RoundRobin", ArgumentTypeError),
    ):
        with pytest.raises(error, match=name):
            setattr(config, name, value)


def test_a_table_must_be_sparse_and_read_by_embeddings_alone():
    def build(sparse, also):
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            ids = static.data("ids", [None], "int64")
            rows = static.embedding(ids, [9, 4], sparse, True, param_attr="t")
            loss = layers.mean(rows)
            if also:
                loss = loss + layers.mean(main.global_block().var("t"))
            static.optimizer.SGD(0.1).minimize(loss)
        return main, startup

    for sparse, also in ((False, False), (True, True)):
        with pytest.raises(InvalidArgumentError, match="distributed table 't'"):
            transpiled(build(sparse, also))


# A server without a job ---------------------------------------------------------------------------


class Requests:
    """A link whose requests are a list: (rank, what, name, value)."""

    def __init__(self, requests):
        self.requests, self.answers, self.trainers = list(requests), [], {0: 0, 1: 1}
        self.role = {}

    def next_request(self):
        rank, do, name, value = self.requests.pop(0)
        return rank, {"do": do, "name": name}, value

    def give(self, rank, value=None, error=None):
        self.answers.append((rank, error or value))

    def finish(self):
        pass


W = "w@GRAD.block0.trainer_0"
GRADIENT = to_variable(np.ones((600, 20), "float32"))


@pytest.fixture(scope="module")
def server():
    made = transpiled(model(sparse=True), config=None)
    scope = static.Scope()
    end = next(e for e in SERVERS if "w.block0" in made.get_pserver_program(e).global_block().vars)
    static.Executor().run(made.get_startup_program(end), scope=scope)
    return made.get_pserver_program(end), scope


@pytest.mark.parametrize(
    ("requests", "text"),
    [
        ([(0, "send", "v@GRAD", GRADIENT)], "must be one of .*, got 'v@GRAD'"),
        ([(1, "send", W, GRADIENT)], "must be one of"),
        ([(0, "send", W, to_variable(np.ones((3, 20), "float32")))], r"got float32 \[3, 20\]"),
        ([(0, "send", W, to_variable(np.ones((608, 20), "int64")))], "got int64"),
        ([(0, "send", W, selected_rows([1], 608, np.ones((1, 20), "float32")))], "be a tensor"),
        ([(0, "send_barrier", "", None)], "all gradients must be sent"),
        ([(0, "explode", "", None)], "a request must be one of"),
        ([(0, "get", "v", None)], "'v' must be a parameter"),
        ([(0, "prefetch", "v", to_variable(np.array([0])))], "'v' must be a table"),
        ([(0, "prefetch", "w.block0", to_variable(np.array([700])))], r"in \[0, 608\)"),
        ([(7, "get", "w.block0", None)], "a request must be one of"),
    ],
)
def test_a_server_refuses_by_name_and_tells_the_trainer(server, monkeypatch, requests, text):
    link = Requests([*requests, (1, "send", W, GRADIENT), (requests[0][0], "get", "w2", None)])
    monkeypatch.setattr(serving.link, "link_of", lambda **role: link)
    with pytest.raises(InvalidArgumentError, match=text):
        static.Executor().run(server[0], scope=server[1])
    ((rank, said),) = link.answers
    assert rank == requests[0][0] and said in str(InvalidArgumentError(said))


# Trainer and servers in one process ---------------------------------------------------------------


class Direct:
    """The link of a trainer whose requests servers of the same process take at once."""

    def __init__(self, made, files=None):
        scope_of = self.scopes = {}
        self.received, self.trainers, self.role = False, {0: 0}, {}
        self.servers, self.answers, self.at = {}, {}, None
        for end in made._division.endpoints:
            scope_of[end] = scope = static.Scope()
            static.Executor().run(made.get_startup_program(end), scope=scope)
            server = serving.Server(made.get_pserver_program(end), scope, None, files)
            self.servers[end], self.answers[end] = server, []
            server.begin(self)

    def request(self, endpoint, do, name="", value=None):
        self.at = endpoint
        self.servers[endpoint]._take(0, {"do": do, "name": name}, value)

    def give(self, rank, value=None, error=None):
        assert error is None
        self.answers[self.at].append(value)

    def answer(self, endpoint):
        return self.answers[endpoint].pop(0)


def recurrent():
    """A cell's weight that a loop of the program uses, trained with a rate that falls."""
    main, startup = static.Program(), static.Program()
    main.random_seed = startup.random_seed = 5
    with static.program_guard(main, startup), static.unique_name.guard():
        x = static.data("x", [3, None, 4])
        rnn = layers.StaticRNN()
        with rnn.step():
            word = rnn.step_input(x)
            state = rnn.memory(shape=[-1, 6], batch_ref=word)
            new = layers.fc([word, state], 6, act="tanh", bias_attr=False)
            rnn.update_memory(state, new)
            rnn.step_output(new)
        loss = layers.mean(layers.square(layers.fc(rnn(), 1, num_flatten_dims=2)))
        rate = layers.piecewise_decay([2, 3], [0.3, 0.2, 0.1])
        clip = nn.ClipGradByNorm(0.05)
        static.optimizer.RMSProp(rate, grad_clip=clip).minimize(loss)
        loss = layers.reduce_sum(main.all_parameters()[0])  # read after the update
    return main, startup, loss, {"x": np.random.RandomState(0).rand(3, 5, 4).astype("float32")}


def ragged():
    """Sequences of words from two tables, one of them distributed, with a padding."""
    main, startup = static.Program(), static.Program()
    main.random_seed = startup.random_seed = 5
    with static.program_guard(main, startup), static.unique_name.guard():
        words = static.data("words", [None, 1], "int64", lod_level=1)
        values = np.random.RandomState(1).rand(31, 3).astype("float32")
        first = static.ParamAttr("t", static.initializer.NumpyArrayInitializer(values))
        one = layers.embedding(words, [31, 3], True, True, 2, first)
        two = layers.embedding(words, [31, 3], True, param_attr="u")
        pooled = layers.sequence_pool(layers.concat([one, two], 1), "sum")
        loss = layers.mean(layers.square(layers.fc(pooled, 1)))
        static.optimizer.Adagrad(0.1).minimize(loss)
    ids = static.create_lod_tensor(
        np.array([[2], [5], [5], [30], [0]]), [[3, 2]], static.CPUPlace()
    )
    return main, startup, loss, {"words": ids}


@pytest.mark.parametrize("build", [recurrent, ragged])
@pytest.mark.parametrize("compiled", [False, True])
def test_one_trainer_and_two_servers_give_the_bits_of_one_process(monkeypatch, build, compiled):
    main, startup, loss, feed = build()
    exe, scope = static.Executor(), static.Scope()
    exe.run(startup, scope=scope)
    alone = [exe.run(main, feed, [loss], scope=scope)[0] for _ in range(5)]
    config = static.DistributeTranspilerConfig()
    config.min_block_size = 8
    made = transpiled((main, startup), trainers=1, config=config)
    link = Direct(made)
    monkeypatch.setattr(calls, "link_of", lambda **role: link)
    scope = static.Scope()
    exe.run(made.get_trainer_startup_program(), scope=scope)
    program = made.get_trainer_program()
    if compiled:
        program = static.CompiledProgram(program).with_data_parallel(loss.name)
    found = [exe.run(program, feed, [loss.name], scope=scope)[0] for _ in range(5)]
    np.testing.assert_array_equal(found, alone)
    assert len(np.unique(alone)) == 5


def test_servers_save_what_they_hold_and_begin_again_with_it(monkeypatch, tmp_path):
    main, startup, loss, feed = ragged()
    made = transpiled((main, startup), trainers=1)
    exe, scope, link = static.Executor(), static.Scope(), Direct(made, str(tmp_path))
    monkeypatch.setattr(calls, "link_of", lambda **role: link)
    exe.run(made.get_trainer_startup_program(), scope=scope)
    exe.run(made.get_trainer_program(), feed, scope=scope)
    exe.run(made.get_checkpoint_program("at/1"), scope=scope)
    for k, end in enumerate(SERVERS):
        again, program = static.Scope(), made.get_pserver_program(end)
        folder = str(tmp_path / "at" / "1" / f"pserver_{k}")
        static.io.load_persistables(exe, folder, program, scope=again)
        for var in program.global_block().vars.values():
            if var.persistable:
                held, read = (s.find_var(var.name).get() for s in (link.scopes[end], again))
                np.testing.assert_array_equal(held.numpy(), read.numpy())
    assert again.find_var("t").get().shape == (15, 3) and not np.all(read.numpy() == 0)
    for name in ("../other", "/tmp/other"):
        with pytest.raises(serving._Refused, match="inside the directory"):
            exe.run(made.get_checkpoint_program(name), scope=scope)
