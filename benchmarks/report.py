"""Tables of results: printed, and kept in benchmarks/results/ as Markdown and JSON.

    python benchmarks/report.py

copies the kept tables into README.md.
"""

import json
import os
import platform
import re
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"
ORDER = ["overhead", "train", "memory", "startup"]
README = RESULTS.parents[1] / "README.md"
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


class Report:
    """Rows of a benchmark. `budget` is the most our figure may be, in the unit of `ours`."""

    def __init__(self, name, title):
        self.name, self.title = name, title
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
    ):
        """`share`: the part of the peer's figure we may take; `most`: a figure of our own."""
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
        self.rows.append(
            {
                "what": what,
                "budget": budget,
                "ours": ours,
                "peer": peer,
                "ratio": ratio,
                "met": met,
                "text": [
                    what,
                    budget,
                    form(ours),
                    form(peer) if peer is not None else "-",
                    f"{ratio:.2f}" if ratio is not None else "-",
                    {True: "yes", False: "NO", None: "-"}[met],
                ],
            }
        )
        print(" | ".join(self.rows[-1]["text"]), flush=True)

    def note(self, text):
        self.notes.append(text)
        print(text, flush=True)

    def table(self):
        head = ["what", "budget", "ours", "torch", "ratio", "met"]
        lines = [head] + [row["text"] for row in self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
        lines.insert(1, ["-" * w for w in widths])
        return "\n".join(
            "| " + " | ".join(t.ljust(w) for t, w in zip(line, widths, strict=True)) + " |"
            for line in lines
        )

    def finish(self):
        text = f"# {self.title}\n\n{machine()}\n\n{self.table()}\n"
        if self.notes:
            text += "\n" + "\n".join(f"- {note}" for note in self.notes) + "\n"
        print("\n" + text)
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{self.name}.md").write_text(text)
        rows = [{k: v for k, v in row.items() if k != "text"} for row in self.rows]
        data = {"title": self.title, "machine": machine(), "rows": rows, "notes": self.notes}
        (RESULTS / f"{self.name}.json").write_text(json.dumps(data, indent=1) + "\n")


def figures():
    """The kept tables, as README.md shows them."""
    kept = [RESULTS / f"{name}.md" for name in ORDER]
    return "\n".join("##" + path.read_text() for path in kept if path.exists())


def with_figures(text):
    return FIGURES.sub(lambda found: found[1] + figures() + found[2], text)


if __name__ == "__main__":
    README.write_text(with_figures(README.read_text()))
