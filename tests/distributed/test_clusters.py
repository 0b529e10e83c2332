"""The files of docs/clusters.md: read, compared with the APIs' documents, run where they can be."""

import pathlib
import re
import subprocess
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "cluster"
# Fields of kubeflow.org/v2beta1 and of Kubernetes' containers, from their references.
FIELDS = {
    "": "apiVersion kind metadata spec",
    "spec": "slotsPerWorker runPolicy mpiReplicaSpecs sshAuthMountPath launcherCreationPolicy "
    "mpiImplementation runLauncherAsWorker",
    "spec.runPolicy": "cleanPodPolicy ttlSecondsAfterFinished activeDeadlineSeconds backoffLimit "
    "schedulingPolicy suspend",
    "spec.mpiReplicaSpecs": "Launcher Worker",
    "replica": "replicas restartPolicy template",
    "pod": "containers volumes",
    "container": "name image command args env resources volumeMounts",
}


def test_the_fields_of_the_mpijob():
    job = yaml.safe_load((FOLDER / "mpijob.yaml").read_text())

    def check(value, kind):
        assert set(value) <= set(FIELDS[kind].split()), (kind, list(value))

    assert (job["apiVersion"], job["kind"]) == ("kubeflow.org/v2beta1", "MPIJob")
    spec = job["spec"]
    for kind in ("", "spec", "spec.runPolicy", "spec.mpiReplicaSpecs"):
        value = job
        for name in filter(None, kind.split(".")):
            value = value[name]
        check(value, kind)
    assert spec["mpiImplementation"] in ("OpenMPI", "Intel", "MPICH")
    mounts = {}
    for name, replica in spec["mpiReplicaSpecs"].items():
        check(replica, "replica")
        pod = replica["template"]["spec"]
        check(pod, "pod")
        (container,) = pod["containers"]
        check(container, "container")
        mounts[name] = {m["name"] for m in container.get("volumeMounts", [])}
        assert mounts[name] == {v["name"] for v in pod.get("volumes", [])}
    launcher = spec["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    ranks = int(launcher["args"][launcher["args"].index("-n") + 1])
    assert ranks == spec["slotsPerWorker"] * spec["mpiReplicaSpecs"]["Worker"]["replicas"]
    from dygraph.distributed import run

    options = run._options([*launcher["command"][3:], *launcher["args"]])
    assert (options.ranks, options.program) == (ranks, "/app/train.py")


def test_the_batch_script_is_a_script():
    subprocess.run(["bash", "-n", FOLDER / "job.slurm"], check=True)


def test_the_program_resumes(tmp_path):
    def train(ranks):
        done = subprocess.run(
            [sys.executable, "-m", "dygraph.distributed.run", "-n", str(ranks),
             FOLDER / "train.py", tmp_path / "last.ckpt"],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    lines = train(2).split("\n")
    assert len(lines) == 7 and float(re.search(r"loss ([\d.]+) on 2", lines[5])[1]) < 0.05
    assert train(1) == ""  # all 60 steps are in the checkpoint


def test_the_page_names_the_files():
    page = (ROOT / "docs" / "clusters.md").read_text()
    for path in [*FOLDER.iterdir(), ROOT / "examples" / "ray_train.py"]:
        assert f"`{path.relative_to(ROOT)}`" in page
