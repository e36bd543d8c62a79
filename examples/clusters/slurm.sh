#!/bin/bash
# A cluster as a job of Slurm: one parameter server and three workers on two nodes.
#
#     sbatch examples/clusters/slurm.sh examples/clusters/sharded_embedding.py 300
#
# Every process learns from Slurm which task it is, and says it to the program in TF_CONFIG.  Workers leave a
# file when they are done; the parameter servers, which would run for good, end when all have.
#SBATCH --job-name=headrace
#SBATCH --nodes=2
#SBATCH --ntasks=4
#SBATCH --ntasks-per-node=2
#SBATCH --time=01:00:00
set -eu

PS=1 WORKERS=3
HEADRACE_CLUSTER_SECRET=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
DONE=$(mktemp -d "${SLURM_SUBMIT_DIR:-$PWD}/headrace-done-XXXXXX") # on a file system that all nodes share
export PS WORKERS HEADRACE_CLUSTER_SECRET DONE
trap 'rm -rf "$DONE"' EXIT

srun --kill-on-bad-exit=1 --export=ALL bash -c '
    set -eu
    TF_CONFIG=$(python -m headrace.distributed.cluster.resolvers.slurm "ps=$PS" "worker=$WORKERS")
    export TF_CONFIG
    if [ "$SLURM_PROCID" -ge "$PS" ]; then # ranks go by the names of the jobs: ps, worker
        headrace run "$@"
        touch "$DONE/$SLURM_PROCID"
    else
        headrace run "$@" &
        server=$!
        while kill -0 "$server" && [ "$(find "$DONE" -type f | wc -l)" -lt "$WORKERS" ]; do sleep 1; done
        kill "$server" 2>/dev/null || { wait "$server"; exit; } # it has ended before them: so do we
        wait "$server" || [ $? -eq 143 ] # ended by our signal
    fi
' train "$@"
