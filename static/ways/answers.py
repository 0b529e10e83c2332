"""Python's reads of symbolic values, and the answers of a run."""

import sys

from dygraph.inspect.watch import is_own_file
from dygraph.static.ways.graph import Ask, PathDone, Restart, here, is_ours, spot
from dygraph.static.ways.hooks import HOOKS
from dygraph.static.ways.numbers import Number
from dygraph.static.ways.recording import Recording
from dygraph.static.ways.sequences import Sizes

__all__ = ["Answers"]


class Answers(Recording):
    """Truth, length, rows and indices, for `static.Variable`."""

    # What Python asks -------------------------------------------------------------------------

    def restart(self, why):
        """Raised to restart the exploration."""
        self.finished = Restart(why)
        return self.finished

    def done(self):
        """Raised when this path continues as another one did."""
        self.finished = PathDone()
        return self.finished

    def meant(self, error):
        """A Python error that is raised here in its place."""
        self.meanings.append(error)
        return error

    def text(self, what):
        """The placeholder of a value in the message of an error; other text is refused."""
        if not self.speaking:
            raise self.refuse(
                f"the text of {what} at {spot(here())} cannot become part of a program, except in "
                "print() or in the message of an error that leaves the function. Use print(x)"
            )
        self.spoke = here()
        return f"<{what}>"

    def went_on(self):
        """Refuse if the message of an error did not leave the function."""
        self.speaking = False
        if self.spoke is not None:
            raise self.refuse(
                f"the message of the error at {spot(self.spoke)} contains a value, and the "
                "function that handles the error could read it. Leave the value out of the "
                "message"
            )

    def not_here(self, what, instead):
        """The error for an operation on a value that no program has."""
        return self.refuse(
            f"{what} of a value at {spot(here())} cannot become part of a program. {instead}"
        )

    def read(self, what):
        """The error for reading a value."""
        return self.not_here(what, "Compute with operators, or return it")

    def loops_alone(self, what):
        """The error for an iteration that cannot become a loop."""
        frame = sys._getframe(1)
        while is_own_file(frame.f_code.co_filename):
            frame = frame.f_back
        code = frame.f_code
        while code.co_name.startswith("<") and code.co_name != "<lambda>" and frame.f_back:
            frame = frame.f_back  # of a comprehension
            code = frame.f_code
        if HOOKS in code.co_freevars:
            return self.refuse(
                f"{what} whose length is known when the program runs is iterated at "
                f"{spot(here())}, but not by a for statement. Only a for statement becomes a "
                "while. Write one"
            )
        return self._has_no_source()

    def _has_no_source(self):
        return self.refuse(
            f"code without source loops on a value at {spot(here())}. Only a loop whose source can "
            "be read becomes a while. Write it in a file"
        )

    def ask(self, variable):
        """The answer of this run; a new question is answered True first."""
        if self.finished is not None:
            raise self.finished
        if self.speaking:
            self.went_on()
        shape = variable.desc.shape or ()
        if any(n not in (-1, 1) for n in shape):
            raise self.meant(
                ValueError(
                    f"the truth of a Variable of shape {tuple(shape)} is ambiguous. Use any() or "
                    "all()"
                )
            )
        if str(variable.dtype) != "bool":
            variable = variable != 0
        uid = self.uid(variable)
        line = here()
        self.ask_lines.append(line)
        self._check_depth(line)
        count = len(self.answers)
        answer = self.decisions[count] if count < len(self.decisions) else True
        self.answers.append(answer)
        self.asked += 1
        block = self.block
        if block.end is None and self.position == len(block.ops):
            block.end = Ask(uid, self.new_block(), self.new_block(), line)
        end = block.end
        if type(end) is not Ask or end.uid != uid or self.position != len(block.ops):
            raise self.refuse(self.not_twice(f"asked at {line}"))
        self.enter_block(end.yes if answer else end.no)
        return answer

    def _check_depth(self, line):
        if self.ask_lines.count(line) > 60:
            frame, depth, code = sys._getframe(2), 0, None
            names = {}
            while frame is not None and frame is not self.root_frame:
                code, depth = frame.f_code, depth + 1
                if not is_ours(frame):
                    names[code] = names.get(code, 0) + 1
                frame = frame.f_back
            if any(n > 50 for n in names.values()):
                raise self.refuse(
                    f"recursion depends on a value at {spot(line)} in {line.rpartition(' ')[2]}. "
                    "Write it as a loop"
                )
            asking = sys._getframe(2)
            while is_own_file(asking.f_code.co_filename):
                asking = asking.f_back
            if self.ask_lines.count(line) > 300 and HOOKS not in asking.f_code.co_freevars:
                raise self._has_no_source()
        if len(self.answers) > 3000:
            raise self.refuse(
                f"one run tested more than 3000 values, the last at {line}. "
                "Write what repeats them as a loop over values"
            )

    def length(self, variable):
        """``len(x)`` outside converted code."""
        shape = variable.desc.shape
        if not shape:
            raise self.meant(TypeError("len() of a Variable without axes"))
        if shape[0] == -1:
            raise self.refuse(
                f"the length of a value at {here()} is known when the program runs, so code "
                "without source cannot read it. Take x.shape[0] in a function whose source can "
                "be read"
            )
        return shape[0]

    def rows(self, variable):
        """``iter(x)`` of a known length."""
        shape = variable.desc.shape
        if not shape:
            raise self.meant(TypeError("iteration over a Variable without axes"))
        if shape[0] == -1:
            raise self.loops_alone("a Variable")
        return (variable[i] for i in range(shape[0]))

    def index(self, index):
        """An index with Variables in place of numbers known only in a run."""
        if isinstance(index, tuple):
            return tuple(self.index(i) for i in index)
        if type(index) is Number:
            return index.value
        return index

    def size_of(self, variable):
        """``x.size`` with an open axis."""
        product = 1
        for n in Sizes().of(variable):
            product = n * product
        return product
