"""Malformed programs with blocks: checked, changed and run in child processes that no signal ends.

A sound program of fuzz_models gets one to three mistakes of a kind: a block used twice, a cycle of
blocks, a number out of range, an attribute of a wrong type, a missing name, wrong STEP_SCOPES, a
condition of a wrong type, and so on. This makes one again, and plays so many of each kind::

    PYTHONPATH=. python tests/static/test_fuzz_blocks.py NET:MISTAKE NUMBER
    PYTHONPATH=. python tests/static/test_fuzz_blocks.py --all 40
"""

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import dygraph
import fuzz_models
import fuzzing
import wire_tree
from dygraph import static
from dygraph.errors import DygraphError

COUNT = 5  # of each kind in a run of the tests
TURNS = 20  # of a loop
ALLOWED = (DygraphError, MemoryError)
# Fields of the messages that hold blocks together.
IDX, PARENT, VARS, OPS, FORWARD = 1, 2, 3, 4, 5
INPUTS, OUTPUTS, TYPE, ATTRS = 1, 2, 3, 4
NAME, KIND, BLOCK = 1, 2, 12
BLOCK_TYPE = 8
_programs = {}


def sound(net):
    """Bytes of a program that trains."""
    if net not in _programs:
        _programs[net] = fuzz_models.described(net)[0].serialize_to_string()
    return _programs[net]


# A program as a tree ------------------------------------------------------------------------------


def all_of(message, number):
    return [f[2] for f in message.fields if f[0] == number]


def set_number(message, number, value):
    """Set the first field of this number, or add one."""
    for field in message.fields:
        if field[0] == number:
            field[2] = value
            return
    message.fields.append([number, wire_tree.VARINT, value])


class Program:
    """What mistakes look for in a tree."""

    def __init__(self, tree):
        self.blocks = all_of(tree, 1)
        self.ops = [op for block in self.blocks for op in all_of(block, OPS)]
        self.vars = [var for block in self.blocks for var in all_of(block, VARS)]
        self.owners = [
            (op, attr) for op in self.ops for attr in all_of(op, ATTRS)
            if BLOCK_TYPE in all_of(attr, KIND)
        ]  # fmt: skip
        self.names = [all_of(var, NAME)[0] for var in self.vars]

    def slots(self, *parameters):
        """Slots of operators with blocks, those of these names or all."""
        return [
            slot for op, _ in self.owners for side in (INPUTS, OUTPUTS) for slot in all_of(op, side)
            if not parameters or all_of(slot, 1)[0].decode() in parameters
        ]  # fmt: skip

    def var(self, name):
        return next(var for var in self.vars if all_of(var, NAME)[0] == name)


def some_index(r, program):
    count = len(program.blocks)
    return r.choice([-1, 0, r.randrange(count), count, count + 7, 2**31 - 1, -(2**31)])


# Mistakes -----------------------------------------------------------------------------------------


def used_twice(r, program):
    """Two operators name one block."""
    (_, one), (_, other) = r.sample(program.owners, 2)
    set_number(one, BLOCK, all_of(other, BLOCK)[0])


def cycle(r, program):
    """A block lies in itself, by its parent or by an operator."""
    i = r.randrange(1, len(program.blocks))
    if r.random() < 0.5:
        set_number(program.blocks[i], PARENT, r.randrange(len(program.blocks)))
    else:
        for _, attr in r.sample(program.owners, 2):
            set_number(attr, BLOCK, i)


def out_of_range(r, program):
    """A number of a block that is none."""
    set_number(r.choice(program.owners)[1], BLOCK, some_index(r, program))


def wrong_place(r, program):
    """idx, parent_idx and forward_block_idx that do not fit."""
    block = r.choice(program.blocks)
    set_number(block, r.choice([IDX, PARENT, FORWARD, FORWARD]), some_index(r, program))


def wrong_type(r, program):
    """An attribute of an operator with a block has another type, or is not there."""
    op, attr = r.choice(program.owners)
    chosen = attr if r.random() < 0.5 else r.choice(all_of(op, ATTRS))
    if r.random() < 0.3:
        op.fields = [f for f in op.fields if f[2] is not chosen]
    else:
        set_number(chosen, KIND, r.randrange(16))


def missing_name(r, program):
    """Names of a slot are lost, or name nothing."""
    slot = r.choice(program.slots())
    names = [f for f in slot.fields if f[0] == 2]
    if not names or r.random() < 0.3:
        slot.fields = slot.fields[:1]
    elif r.random() < 0.3:
        slot.fields.remove(r.choice(names))
    else:
        r.choice(names)[2] = r.choice([b"", b"@EMPTY@", b"absent"])


def other_name(r, program):
    """A slot names another variable."""
    names = [f for slot in program.slots() for f in slot.fields if f[0] == 2]
    r.choice(names)[2] = r.choice(program.names)


def wrong_steps(r, program):
    """STEP_SCOPES are of another type, or read and written by what is not meant to."""
    slots = [s for s in program.slots("StepScopes", "Scope") if len(s.fields) > 1]
    slot, kind = r.choice(slots), r.random()
    if kind < 0.3:
        slot.fields[1][2] = r.choice(program.names)
    elif kind < 0.6:
        (type_,) = all_of(program.var(slot.fields[1][2]), 2)
        set_number(type_, 1, r.choice([7, 8, 9, 10, 12, 13, 17, 4, 99]))
    else:
        op = r.choice(program.ops)
        found = [s for side in (INPUTS, OUTPUTS) for s in all_of(op, side) if len(s.fields) > 1]
        if found:
            r.choice(found).fields[1][2] = slot.fields[1][2]


def wrong_condition(r, program):
    """A condition is no bool, or none of one element."""
    slots = [s for s in program.slots("Condition", "Cond") if len(s.fields) > 1]
    name = r.choice(slots).fields[1]
    if r.random() < 0.3 or name[2] not in program.names:
        name[2] = r.choice(program.names)
        return
    (type_,) = all_of(program.var(name[2]), 2)
    for message in type_.walk():
        if message.kind == "Tensor":
            if r.random() < 0.5:
                set_number(message, 1, r.choice([1, 2, 3, 5, 6, 20]))
            else:
                message.fields.append([2, wire_tree.VARINT, r.choice([2, 0, -1])])


def wrong_lists(r, program):
    """The lists of names and counts that go with the slots of recurrent and of gradients."""
    op, _ = r.choice(program.owners)
    lists = [a for a in all_of(op, ATTRS) if all_of(a, KIND)[0] in (3, 5)]
    if not lists:
        return
    attr = r.choice(lists)
    elements = [f for f in attr.fields if f[0] in (6, 8)]
    if elements and r.random() < 0.5:
        attr.fields.remove(r.choice(elements))
    elif all_of(attr, KIND)[0] == 3:
        attr.fields.append([6, wire_tree.VARINT, r.choice([0, 1, 2, -1, 2**31 - 1])])
    else:
        attr.fields.append([8, wire_tree.BYTES, r.choice([b"", b"absent", *program.names])])


def moved(r, program):
    """An operator or a variable in another block, or lost."""
    one, other = r.choice(program.blocks), r.choice(program.blocks)
    fields = [f for f in one.fields if f[0] in (VARS, OPS)]
    if fields:
        field = r.choice(fields)
        one.fields.remove(field)
        if r.random() < 0.7:
            other.fields.insert(r.randrange(len(other.fields) + 1), field)


def other_kind(r, program):
    """An operator with a block is another one with a block, or a variable of another kind."""
    if r.random() < 0.5:
        kinds = [all_of(op, TYPE)[0] for op, _ in program.owners] + [b"recurrent", b"while_grad"]
        op, _ = r.choice(program.owners)
        next(f for f in op.fields if f[0] == TYPE)[2] = r.choice(kinds)
    else:
        (type_,) = all_of(r.choice(program.vars), 2)
        set_number(type_, 1, r.choice([7, 8, 11, 12, 13, 15]))


MISTAKES = {
    f.__name__: f
    for f in (
        used_twice, cycle, out_of_range, wrong_place, wrong_type, missing_name, other_name,
        wrong_steps, wrong_condition, wrong_lists, moved, other_kind,
    )
}  # fmt: skip
KINDS = [f"{net}:{mistake}" for net in fuzz_models.WITH_BLOCKS for mistake in MISTAKES]


def malformed(kind, number):
    """The bytes of a program with mistakes."""
    net, mistake = kind.split(":")
    r = random.Random(f"{kind}:{number}")
    tree = wire_tree.parse(sound(net))
    for _ in range(r.choice([1, 1, 2, 3])):
        MISTAKES[mistake](r, Program(tree))
    return wire_tree.unparse(tree)


# What is done with them ---------------------------------------------------------------------------


def play(kind, number):
    dygraph.set_flags({"FLAGS_while_turns": TURNS})
    net = kind.split(":")[0]
    r = random.Random(number)
    _, result, loss, feed, values = fuzz_models.described(net)
    scope = static.Scope()
    for name in values.local_var_names():
        scope.var(name).set(values.find_var(name).get())
    try:
        program = static.Program.parse_from_string(malformed(kind, number))
    except ALLOWED:
        return
    inference = [result], True
    for fetches, pruned in (([loss], False), inference):
        try:
            static.Executor().run(program, feed, fetches, scope=scope, use_prune=pruned)
        except ALLOWED:
            continue
    uses = [
        lambda: static.diff(program, program.clone(for_test=True)), lambda: str(program),
        lambda: static.to_code(program), lambda: static.draw_graph(program, path=None),
        lambda: static.gradients(program.global_block().var(loss), "x"),
    ]  # fmt: skip
    for use in r.sample(uses, 2):
        try:
            use()
        except ALLOWED:
            continue


def describe(kind, number):
    return f"{kind} {number}"


@pytest.mark.parametrize("net", fuzz_models.WITH_BLOCKS)
def test_malformed_programs_with_blocks_end_with_errors(net):
    kinds = [kind for kind in KINDS if kind.startswith(net)]
    fuzzing.run_group(__file__, describe, kinds, COUNT, 300)


@pytest.mark.parametrize("net", fuzz_models.WITH_BLOCKS)
def test_the_program_without_mistakes_runs(net):
    main, _, loss, feed, values = fuzz_models.described(net)
    program = static.Program.parse_from_string(sound(net))
    binary = wire_tree.unparse(wire_tree.parse(sound(net)))
    assert binary == sound(net)
    for each in (main, program):
        static.Executor().run(each, feed, [loss], scope=values)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_changes_the_program(mistake):
    for net in fuzz_models.WITH_BLOCKS:
        changed = [malformed(f"{net}:{mistake}", n) != sound(net) for n in range(10)]
        assert sum(changed) >= 4, net


if __name__ == "__main__":
    fuzzing.main(play, describe, lambda: KINDS)
