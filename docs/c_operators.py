"""Writes the table of operators into docs/c_file.md: python docs/c_operators.py"""

import os

from dygraph import codegen

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "c_file.md")
BEGIN, END = "<!-- operators -->\n", "<!-- end of operators -->"


def main():
    with open(PATH, encoding="utf-8") as f:
        text = f.read()
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    with open(PATH, "w", encoding="utf-8") as f:
        f.write(head + BEGIN + codegen.registry.table_text() + END + tail)


if __name__ == "__main__":
    main()
