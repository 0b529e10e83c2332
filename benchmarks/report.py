"""Tables of results: printed, and kept in benchmarks/results/ as Markdown and JSON.

    python benchmarks/report.py

copies the kept tables into docs/benchmarks.md and ten of their rows into README.md.
DYGRAPH_BENCH_RESULTS names another folder for measurements that are not to be kept.
"""

import json
import os
import platform
import re
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = Path(os.environ.get("DYGRAPH_BENCH_RESULTS", HERE / "results"))
ORDER = [
    "overhead", "train", "growth", "train_busy", "train_memory", "compiled", "compiled_1",
    "operators", "executor", "predictor", "c_file", "control_flow", "distributed",
    "memory", "startup", "build_time",
]  # fmt: skip
PAGE, README = HERE.parent / "docs" / "benchmarks.md", HERE.parent / "README.md"
# The rows that README.md shows: results, the row there, what it is called.
CHOSEN = [
    ("overhead", "relu(a), 8x8", "a small eager call: `relu` of 8x8"),
    ("overhead", "a @ b, 8x8, recording", "a recorded one: `a @ b` of 8x8"),
    ("train", "MLP 784-256-256-10, batch 64, SGD", "a training step: MLP, batch 64"),
    ("train", "ResNet-50 224x224, batch 4, momentum", "a training step: ResNet-50, batch 4"),
    ("train", "Transformer encoder, 4 layers, AdamW", "a training step: Transformer, 4 layers"),
    ("train", "LSTM of 32 sequences of 5 to 200 steps", "a training step: LSTM, ragged batch"),
    ("train_busy", "MLP 784-256-256-10, batch 64, SGD", "the MLP beside a busy process"),
    ("control_flow", "a turn forward and backward", "a turn of a loop, forward and backward"),
    ("executor", "ResNet-50, one sample", "a program: ResNet-50, one image, one thread"),
    ("startup", "import: time", "`import`, beyond numpy's"),
]
FIGURES = re.compile(r"(<!-- figures:.*?-->\n).*?(<!-- end of figures -->)", re.DOTALL)
UNITS = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)]


def seconds(value):
    for unit, size in UNITS:
        if value >= size or unit == "ns":
            return f"{value / size:.3g} {unit}"
    return ""


def megabytes(value):
    return f"{value / 2**20:.1f} MB"


def machine():
    """Processor, cores, memory, system, Python: enough to judge figures by, no host name."""
    processor = platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            processor = line.split(":", 1)[1].strip()
            break
    gigabytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return (
        f"{processor}, {len(os.sched_getaffinity(0))} cores, {gigabytes:.0f} GB, "
        f"{platform.system()}, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}"
    )


FORMS = {form.__name__: form for form in (seconds, megabytes, str)}
HEAD = ["what", "budget", "ours", "torch", "ratio", "met"]


def cells(row):
    """The text of a row under `HEAD`."""
    form = FORMS[row.get("form", "seconds")]
    return [
        row["what"],
        row["budget"],
        form(row["ours"]),
        form(row["peer"]) if row["peer"] is not None else "-",
        f"{row['ratio']:.2f}" if row["ratio"] is not None else "-",
        {True: "yes", False: "NO", None: "-"}[row["met"]],
    ]


class Report:
    """Rows of a benchmark. `budget` is the most our figure may be, in the unit of `ours`.

    `columns` are further ones, whose texts rows may bring. `order` names all rows that a whole run
    measures: where given, rows that were not measured this time stay as they are kept.
    """

    def __init__(self, name, title, columns=(), order=None, peer="torch"):
        self.name, self.title, self.columns, self.order = name, title, list(columns), order
        self.head = [peer if word == "torch" else word for word in HEAD]
        self.rows, self.notes = [], []

    def add(
        self,
        what,
        ours,
        peer=None,
        ratio=None,
        share=None,
        most=None,
        form=seconds,
        peer_name="torch",
        more=None,
    ):
        """`share`: the part of the peer's figure we may take; `most`: a figure of our own; `more`:
        texts of further columns."""
        if ratio is None and peer:
            ratio = ours / peer
        met = None
        if share is not None and ratio is not None:
            met = ratio <= share
        elif most is not None:
            met = ours <= most
        budget = (
            f"{share:g} x {peer_name}"
            if share is not None
            else form(most)
            if most is not None
            else "-"
        )
        row = {
            "what": what,
            "budget": budget,
            "ours": ours,
            "peer": peer,
            "ratio": ratio,
            "met": met,
            "form": form.__name__,
            **(more or {}),
        }
        self.rows.append(row)
        print(" | ".join(self.line(row)), flush=True)

    def line(self, row):
        return cells(row) + [row.get(column, "-") for column in self.columns]

    def note(self, text):
        self.notes.append(text)
        print(text, flush=True)

    def table(self):
        return aligned(self.head + self.columns, [self.line(row) for row in self.rows])

    def add_kept(self):
        """The kept rows of `order` that were not measured now."""
        rows = {row["what"]: row for row in kept_rows(self.name) + self.rows}
        self.rows = [rows[what] for what in self.order if what in rows]

    def finish(self):
        if self.order:
            self.add_kept()
        keep(self.name, self.title, self.table(), self.notes, self.rows)


def aligned(head, lines):
    """A table in Markdown."""
    lines = [head, *lines]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    lines.insert(1, ["-" * w for w in widths])
    return "\n".join(
        "| " + " | ".join(t.ljust(w) for t, w in zip(line, widths, strict=True)) + " |"
        for line in lines
    )


def kept_rows(name):
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text())["rows"] if path.exists() else []


def write(name, title, table, notes):
    """Keep a table as Markdown, and print it."""
    text = f"# {title}\n\n{machine()}\n\n{table}\n"
    if notes:
        wrap = textwrap.TextWrapper(
            100, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
        )
        text += "\n" + "\n".join(wrap.fill(note) for note in notes) + "\n"
    print("\n" + text)
    path = RESULTS / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def keep(name, title, table, notes, rows):
    """Keep a table, and the rows behind it as JSON."""
    write(name, title, table, notes)
    data = {"title": title, "machine": machine(), "rows": rows, "notes": notes}
    (RESULTS / f"{name}.json").write_text(json.dumps(data, indent=1) + "\n")


def figures():
    """The kept tables, as docs/benchmarks.md shows them."""
    kept = [RESULTS / f"{name}.md" for name in ORDER]
    return "\n".join("##" + path.read_text() for path in kept if path.exists())


def chosen():
    """The rows of `CHOSEN`, as README.md shows them."""
    lines = []
    for name, what, called in CHOSEN:
        (row,) = (row for row in kept_rows(name) if row["what"] == what)
        peer = "ONNX Runtime" if name == "executor" else "torch"
        _, budget, ours, theirs, ratio, met = cells(row)
        lines.append([called, ours, f"{theirs} ({peer})", ratio, budget, met])
    return aligned(["what", "ours", "peer", "ratio", "budget", "met"], lines) + "\n"


def update(path, shown):
    text = path.read_text()
    path.write_text(FIGURES.sub(lambda found: found[1] + shown + found[2], text))


if __name__ == "__main__":
    update(PAGE, figures())
    update(README, chosen())
