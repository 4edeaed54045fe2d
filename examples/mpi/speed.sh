# speed.sh FOLDER ROUNDS   two ranks of one thread against one process of two threads, in turn
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMP_NUM_THREADS=2
round=0
while [ $round -lt "${2:-3}" ]; do
  "$1/speed" 2 2 4
  mpirun -n 2 --oversubscribe "$1/speed" 1 2 4
  round=$((round + 1))
done
