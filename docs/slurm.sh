#!/bin/bash
# One run of grbm on eight machines: sbatch docs/slurm.sh. Killed at its time limit, it is put back into the queue, and goes on
# from its last checkpoint to the same bits; so it does with another number of machines.
#SBATCH --job-name=grbm
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1          # one rank per machine, with a thread for each of its cores
#SBATCH --cpus-per-task=16
#SBATCH --time=04:00:00
#SBATCH --signal=B:TERM@120          # two minutes before the end: a checkpoint
#SBATCH --requeue
#SBATCH --output=%x-%j.out

out=${OUT:-$PWD/digits}              # a folder that all machines see; so must the data be
resume=()
[ -e "$out/manifest.json" ] && resume=(--resume)

mpirun --mca odls_base_sigkill_timeout 60 --map-by ppr:1:node:pe="$SLURM_CPUS_PER_TASK" grbm train paper-mnist "${resume[@]}" \
  --set train.batch_size=2048 --threads "$SLURM_CPUS_PER_TASK" --out "$out" &
job=$!
trap 'kill -TERM $job; wait $job; scontrol requeue "$SLURM_JOB_ID"' TERM
wait $job
