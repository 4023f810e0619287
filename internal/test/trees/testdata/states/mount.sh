grep -q '^tmpfs /mnt/brine-tmp tmpfs .*size=1024k' /proc/mounts
grep -q ' /mnt/brine-bound tmpfs ' /proc/mounts
test "$(grep -c brine /etc/fstab)" = 3
