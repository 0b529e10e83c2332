"""Writes ``coming_from_<library>.md`` from the table of habits: ``python docs/coming_from.py``.

The table is in ``tests/habits``, where each of its lines is run; see ``habit_table.py`` there.
"""

import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "habits"))

from habit_table import ARRAYS, LIBRARIES, habits  # noqa: E402

# Title, imports, and what a library's names become in the lines.
PAGES = {
    "numpy": ("NumPy", "import dygraph\nimport numpy as np", {"np": "dygraph", "numpy": "np"}),
    "torch": (
        "PyTorch",
        "import dygraph\nimport dygraph.nn as nn\nimport dygraph.nn.functional as F\n"
        "import dygraph.optimizer as optim",
        {"torch": "dygraph"},
    ),
    "keras": (
        "Keras",
        "import dygraph",
        {"keras": "dygraph", "layers": "dygraph.nn", "ops": "dygraph"},
    ),
    "jax": ("JAX", "import dygraph", {"jnp": "dygraph", "jax": "dygraph"}),
    "fluid": ("Fluid", "import dygraph.static as fluid", {}),
    "paddle": (
        "Paddle 2",
        "import dygraph\nimport dygraph.nn as nn\nimport dygraph.nn.functional as F",
        {"paddle": "dygraph"},
    ),
}
MORE = {
    "torch": "Transformer layers take `[batch, time, size]`, as with torch's `batch_first=True`; "
    "`nn.LSTM` and `nn.GRU` ask for the order of a padded batch. ",
    "keras": "`net` is `nn.Linear(3, 2)`, in Keras a model with one `Dense(2)`. ",
    "fluid": "`fetch(function, *arrays)` describes a program whose inputs are the arrays, runs it "
    "with an `Executor`, and gives the result. ",
}


def here(code, names):
    """Lines as typed in a library, with the names of its modules replaced by ours."""
    if not names:
        return code
    pattern = r"(?<![\w.\"'])(" + "|".join(names) + r")(?=\.)"
    return re.sub(pattern, lambda match: names[match[1]], code)


def comment(text):
    return "\n".join(f"# {line}" for line in text.splitlines())


def prose(text):
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False) + "\n"


def block(parts):
    return "```python\n" + "\n".join(parts) + "\n```\n"


def arrays():
    """What stands in the lines, as text."""
    shown = []
    for name, value in ARRAYS.items():
        if value.size <= 6:
            shown.append(f"{name} = np.array({value.tolist()}, '{value.dtype}')")
    return "\n".join([*shown, "img = np.arange(16, dtype='float32').reshape(1, 1, 4, 4)"])


def section(heading, found, names):
    """One heading: lines that mean the same, lines to write otherwise."""
    text = [f"## {heading}\n"]
    same = [here(habit.code, names) for habit in found if not (habit.hint or habit.other)]
    other = [habit for habit in found if habit.hint]
    if same:
        text += ["The same here:\n", block(same)]
    if other:
        parts = []
        for habit in other:
            parts.append(comment(habit.code))
            parts.append(habit.here or f"# raises, and names: {habit.hint}")
        text += ["Raises here, and the message says what to write:\n", block(parts)]
    return "\n".join(text)


def page(library):
    """The text of a library's page."""
    title, imports, names = PAGES[library]
    found = habits(library)
    text = [
        f"# Coming from {title}\n",
        prose(
            f"This page has {len(found)} lines that users of {title} type first. The tests run "
            f"them. A line gives the value that {title} gives, or it raises an error that says "
            f"what to write. Where ours differs, {title}'s line is a comment, and ours follows."
        ),
        block([imports]),
        prose(
            MORE.get(library, "") + "The lines use these arrays; `w` needs a gradient, and "
            "`fill(net)` sets all parameters to 0.1."
        ),
        block([arrays()]),
    ]
    differing = [habit for habit in found if habit.other]
    if differing:
        parts = []
        for habit in differing:
            parts.append(comment(habit.code))
            parts.append(f"# {habit.other}. Write:")
            parts.append(habit.here)
        text += [
            "## Another meaning here\n",
            prose(
                "A call that libraries read in different ways raises here, and the message says "
                "what to write. These lines are the exceptions. They have the meaning that the "
                "Python array API standard or most libraries give them, because code that runs "
                f"with several libraries relies on it. Each comment gives {title}'s line and whose "
                "meaning it has here; the line to write follows."
            ),
            block(parts),
        ]
    for heading in dict.fromkeys(habit.heading for habit in found):
        rows = [habit for habit in found if habit.heading == heading]
        if any(not habit.other for habit in rows):
            text.append(section(heading, rows, names))
    return "\n".join(text)


def path_of(library):
    return ROOT / "docs" / f"coming_from_{library}.md"


if __name__ == "__main__":
    for library in LIBRARIES:
        path_of(library).write_text(page(library))
