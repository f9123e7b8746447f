#!/bin/sh
# room.sh ROOT PYTHON [lower]: in namespaces of its own, make ROOT the root: this machine's /usr and a Python, both to be
# read only, and all else its own. `lower`: ROOT is not changed; what is written is gone with the room.
set -eu
mount --make-rprivate /
root=$1
if [ "${3:-}" = lower ]; then
    mount -t tmpfs room /mnt
    mkdir /mnt/upper /mnt/work /mnt/root
    mount -t overlay room -o "lowerdir=$1,upperdir=/mnt/upper,workdir=/mnt/work" /mnt/root
    root=/mnt/root
else
    mount --bind "$root" "$root"
fi
for each in /usr "$2"; do
    mount --bind "$each" "$root$each"
    mount -o remount,bind,ro "$root$each"
done
mount --bind "$root/local" "$root/usr/local"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 dev "$root/dev"
for each in null zero full random urandom; do
    touch "$root/dev/$each"
    mount --bind "/dev/$each" "$root/dev/$each"
done
ln -s /proc/self/fd "$root/dev/fd"
mkdir -m 1777 "$root/dev/shm"
ip link set lo up 2>/dev/null || :
cd "$root"
mkdir -p old
pivot_root . old
umount -l old
rmdir old
cd /
echo ready
exec env -i sleep infinity
