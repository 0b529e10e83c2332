"""What a refusal must say: a line of the user's, and what to write instead."""

import re

LINE = re.compile(r"(<[^<>]+>|[\w.]+):(\d+)\b")
FIX = re.compile(
    r"[.:?] (Append|Bind|Call|Capture|Compare|Compute|Convert|Declare|Give|Have|Keep|Leave|Loop|"
    r"Make|Move|Multiply|Pass|Print|Return|Stack|Take|Use|Write)\b"
)


def unhelpful(text, *files):
    """What is missing in a refusal, a line of these files or what to write instead; or None."""
    if not any(not files or file in files for file, _ in LINE.findall(text)):
        return f"no line of {' or '.join(files) or 'a file'} in: {text}"
    return None if FIX.search(text) else f"nothing to write instead in: {text}"
