# Boots systemd in the tree $1, whose changes go to the directory $2: in namespaces of its own, but for the network. It ends with
# standard input, so that nothing stays where the test is killed.
set -e
LESS=-sys_time,-sys_module,-sys_rawio,-sys_boot
tree=$1 changes=$2
own() {
  mount --make-rprivate /
  mount -t overlay -o "lowerdir=$tree,upperdir=$changes/upper,workdir=$changes/work" overlay "$changes/root"
  cd "$changes/root"
  mount -t proc proc proc
  mount -t sysfs -o ro sysfs sys
  mount -t cgroup2 cgroup2 sys/fs/cgroup
  mount -t tmpfs -o mode=755 tmpfs dev
  for name in null zero full random urandom tty; do
    : > dev/$name
    mount --bind /dev/$name dev/$name
  done
  mkdir dev/pts dev/shm
  mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
  ln -s pts/ptmx dev/ptmx
  mount -t tmpfs tmpfs dev/shm
  mount -t tmpfs -o mode=755 tmpfs run
  mount -t tmpfs tmpfs tmp
  hostname web1
  mkdir -p .old
  pivot_root . .old
  umount -l /.old
  # The clock and the kernel are those of the host.
  exec env -i container=brine PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb setpriv --bounding-set "$LESS" /lib/systemd/systemd --system --log-target=null --show-status=0
}
if [ "$3" = own ]; then
  own
fi
exec 3<&0 < /dev/null
({ cat <&3; kill -KILL $$; } > /dev/null 2>&1 &) # no child of this process: that is its systemd alone
exec 3<&-
mkdir -p "$changes/upper" "$changes/work" "$changes/root" "$changes/groups"
mount -t cgroup2 cgroup2 "$changes/groups"
group=$changes/groups/${changes##*/}-$$
mkdir "$group"
echo $$ > "$group/cgroup.procs"
umount -l "$changes/groups"
exec unshare --mount --uts --ipc --cgroup --pid --fork --kill-child sh "$0" "$tree" "$changes" own
