#!/bin/bash
# Runs train.py with one rank a task on four nodes of a Slurm cluster: sbatch slurm.sh [script arguments]
#SBATCH --job-name=headwater
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=16
#SBATCH --time=12:00:00
#SBATCH --requeue
#SBATCH --signal=TERM@120
#SBATCH --output=%x-%j.log
set -euo pipefail

# Threads of each rank: the cores of its task. HEADWATER_TRAIN: the script, which begins with its last checkpoint.
export OMP_NUM_THREADS="${SLURM_CPUS_PER_TASK:-1}"
script="${HEADWATER_TRAIN:-train.py}"

# srun speaks PMIx where Slurm was built with it; otherwise mpirun finds the nodes in Slurm's environment.
kinds=$(srun --mpi=list 2>&1)
if [[ $kinds == *pmix* ]]; then
  exec srun --mpi=pmix --kill-on-bad-exit=1 --label python "$script" "$@"
fi
exec mpirun --map-by "slot:PE=${SLURM_CPUS_PER_TASK:-1}" python "$script" "$@"
