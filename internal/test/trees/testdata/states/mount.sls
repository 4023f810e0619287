/mnt/brine-tmp:
  mount.mounted:
    - device: tmpfs
    - fstype: tmpfs
    - opts: size=1m,mode=0755,noexec
    - mkmnt: True

/mnt/brine-bound:
  mount.mounted:
    - device: /mnt/brine-tmp
    - fstype: none
    - opts: bind
    - mkmnt: True
    - require:
      - mount: /mnt/brine-tmp

only in the fstab:
  mount.fstab_present:
    - name: /dev/brine
    - fs_file: /mnt/brine-later
    - fs_vfstype: ext4
    - fs_mntops: noauto
    - mount: False

never there:
  mount.fstab_absent:
    - name: /dev/brine-none
    - fs_file: /mnt/brine-none

/mnt/brine-none:
  mount.unmounted:
    - persist: True
