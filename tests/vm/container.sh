# What a container runtime does between its namespaces and the program; then the program.
set -e
mount -t tmpfs -o mode=755 run /run
touch /run/.containerenv
mount -t sysfs -o ro sysfs /sys
mount -t cgroup2 -o ro cgroup2 /sys/fs/cgroup
mount -t tmpfs -o size=64m shm /dev/shm
exec taskset 3 "$@"
