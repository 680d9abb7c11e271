"""The files for clusters, as far as they can be checked without one: syntax, fields, and that what they name fits together."""

import json
import re
import subprocess
from pathlib import Path

CLUSTER = Path(__file__).resolve().parents[2] / "examples" / "cluster"


def test_slurm_script(tmp_path):
    script = CLUSTER / "slurm.sh"
    assert subprocess.run(["bash", "-n", script]).returncode == 0
    options = dict(re.findall(r"^#SBATCH --([\w-]+)(?:=(\S+))?$", script.read_text(), re.MULTILINE))
    assert len(options) == len(re.findall("^#SBATCH", script.read_text(), re.MULTILINE))
    assert options.keys() <= {"job-name", "nodes", "ntasks-per-node", "cpus-per-task", "time", "requeue", "signal", "output"}
    assert int(options["nodes"]) > 1 and re.fullmatch(r"\d+:\d\d:\d\d", options["time"])
    # With a Slurm of three lines: what it starts, with PMIx and without.
    for has_pmix, starts in ((True, "srun --mpi=pmix --kill-on-bad-exit=1 --label python my.py --epochs 3"),
                             (False, "mpirun --map-by slot:PE=16 python my.py --epochs 3")):  # fmt: skip
        for name in ("srun", "mpirun"):
            listing = f'[ "$1" = --mpi=list ] && echo {"pmix" if has_pmix else "pmi2"} && exit\n' if name == "srun" else ""
            (tmp_path / name).write_text(f'#!/bin/bash\n{listing}echo {name} "$@"\n')
            (tmp_path / name).chmod(0o755)
        environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "SLURM_CPUS_PER_TASK": "16", "HEADWATER_TRAIN": "my.py"}
        out = subprocess.run(["bash", script, "--epochs", "3"], env=environment, capture_output=True, text=True)
        assert out.stdout.strip() == starts, out.stderr


def test_kubernetes_job():
    text = (CLUSTER / "mpijob.yaml").read_text()
    job = json.loads("\n".join(line for line in text.splitlines() if not line.startswith("#")))
    assert (job["apiVersion"], job["kind"]) == ("kubeflow.org/v2beta1", "MPIJob")
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", job["metadata"]["name"])
    spec = job["spec"]
    assert spec.keys() <= {"slotsPerWorker", "sshAuthMountPath", "mpiImplementation", "runPolicy", "mpiReplicaSpecs"}
    assert spec["mpiImplementation"] == "OpenMPI" and spec["runPolicy"]["cleanPodPolicy"] in ("None", "Running", "All")
    launcher, worker = spec["mpiReplicaSpecs"]["Launcher"], spec["mpiReplicaSpecs"]["Worker"]
    command = [*launcher["template"]["spec"]["containers"][0]["command"], *launcher["template"]["spec"]["containers"][0]["args"]]
    assert launcher["replicas"] == 1 and int(command[command.index("-n") + 1]) == worker["replicas"] * spec["slotsPerWorker"]
    for replica in (launcher, worker):
        pod = replica["template"]["spec"]
        volumes = {v["name"] for v in pod.get("volumes", [])}
        for container in pod["containers"]:
            assert {"name", "image", "command", "args", "resources"} <= container.keys()
            assert {m["name"] for m in container.get("volumeMounts", [])} <= volumes
            for limit in container["resources"]["limits"].values():
                assert re.fullmatch(r"\d+(m|[KMG]i)?", limit)
