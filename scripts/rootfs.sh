#!/bin/sh
# Makes the root of the container image of a role, as packaging/docker/root.list says, of the programs in BIN. A program that is
# not in cmd/ is left out. Only root can give directories to the user of the master; for others all belongs to them.
# Usage: rootfs.sh GO master|api|syndic|minion BIN ROOT
set -eu
go=$1 role=$2 bin=$3 root=$4
case $role in
  master | minion) ;;
  api | syndic) role=master ;;
  *) echo "rootfs: no role $role" >&2; exit 2 ;;
esac

# origin prints the file that a source of the list names, and nothing for a program that there is none of.
origin() {
  case $1 in
    program:*) [ ! -d "cmd/${1#program:}" ] || echo "$bin/${1#program:}" ;;
    host:*) echo "${1#host:}" ;;
    go:*) echo "$("$go" env GOROOT)/${1#go:}" ;;
    *) echo "$1" ;;
  esac
}

rm -rf "$root"
mkdir -p "$root"
chmod 0755 "$root"
umask 022
grep -v '^#' packaging/docker/root.list | while read -r for kind mode owner path source; do
  if [ "$for" != any ] && [ "$for" != "$role" ]; then
    continue
  fi
  case $kind in
    dir) mkdir -p "$root$path" ;;
    link)
      ln -s "$source" "$root$path"
      continue
      ;;
    file)
      file=$(origin "$source")
      [ -n "$file" ] || continue
      mkdir -p "$root${path%/*}"
      cp "$file" "$root$path"
      ;;
    *) echo "root.list: $kind" >&2; exit 1 ;;
  esac
  chmod "$mode" "$root$path"
  [ "$(id -u)" != 0 ] || chown "$owner:$owner" "$root$path"
done
