"""The job of `docs/parameter_servers.md` runs and learns."""

import re
from pathlib import Path

import numpy as np

from tests.jobs import start_job

PAGE = Path(__file__).parents[2] / "docs" / "parameter_servers.md"


def test_the_job_of_the_page_learns(tmp_path):
    (script,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    job = start_job(4, script + "\nresult = losses\n", tmp_path)
    assert job.code == 0, job.err
    one, two = np.array(job.results[2]), np.array(job.results[3])
    assert job.results[:2] == [[], []] and len(one) == len(two) == 20
    assert (one + two)[-3:].mean() < 0.5 * (one + two)[:3].mean()
