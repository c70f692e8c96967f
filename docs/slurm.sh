#!/bin/bash
# One run of grbm on eight machines: sbatch docs/slurm.sh, or sbatch --nodes=4 docs/slurm.sh PRESET --set SECTION.KEY=VALUE ...
# Two minutes before its time limit it writes a checkpoint and goes back into the queue, and then on to the same bits; so it does
# after a kill, from its last checkpoint, and with another number of machines.
#SBATCH --job-name=grbm
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1          # one rank per machine, with a thread for each of its cores
#SBATCH --cpus-per-task=16
#SBATCH --time=04:00:00
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --output=%x-%j.out
#SBATCH --open-mode=append           # a job that was put back keeps what it said before

[ $# -gt 0 ] || set -- paper-mnist --set train.batch_size=2048
out=${OUT:-$PWD/digits}              # a folder that all machines see; so must the data be
resume=()
[ -e "$out/manifest.json" ] && resume=(--resume)

mpirun --map-by ppr:1:node:pe="$SLURM_CPUS_PER_TASK" grbm train "$@" "${resume[@]}" \
  --threads "$SLURM_CPUS_PER_TASK" --out "$out" &
job=$!
# USR1, not TERM: mpirun passes it on at once, and lets its processes take the time that they need.
trap 'stopped=yes; kill -USR1 $job' USR1
wait $job
code=$?
if [ "$stopped" ]; then
  wait $job
  exec scontrol requeue "$SLURM_JOB_ID"
fi
exit $code
