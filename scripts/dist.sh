#!/bin/sh
# Writes an archive for each platform, and SHA256SUMS, into OUT: programs, papers, default configuration, and the files of
# the service managers that the platform has. What is built from one commit is the same to the byte, wherever and
# whenever: names are sorted, times are that of the commit (SOURCE_DATE_EPOCH), owners are root.
# Usage: dist.sh GO VERSION LDFLAGS TAGS OUT [OS/ARCH[/ARM]]...
set -eu
go=$1 version=$2 ldflags=$3 tags=$4 out=$5
shift 5
if [ $# -eq 0 ]; then
  set -- linux/amd64 linux/arm64 linux/arm/6 linux/arm/7 linux/386 linux/riscv64 darwin/amd64 darwin/arm64 freebsd/amd64 windows/amd64
fi
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || echo 0)}
export CGO_ENABLED=0 TZ=UTC
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/brine-dist.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# programs lists what a system gets: other systems than Linux have minions only.
programs() {
  if [ "$1" = linux ]; then
    for dir in cmd/salt*; do
      echo "./$dir"
    done
  else
    echo ./cmd/salt-minion ./cmd/salt-call
  fi
}

# compile builds the programs into a directory: compile OS ARCH ARM DIRECTORY.
compile() {
  # shellcheck disable=SC2046 # several words
  GOOS=$1 GOARCH=$2 GOARM=$3 "$go" build -trimpath -buildvcs=false -ldflags "$ldflags" -tags "$tags" -o "$4/" $(programs "$1")
}

# papers puts the rest into a directory: papers OS DIRECTORY.
papers() {
  cp LICENSE NOTICE README.md "$2/"
  cp -R docs "$2/docs"
  [ ! -d man ] || cp -R man "$2/man"
  echo "$version" > "$2/VERSION"
  mkdir "$2/conf"
  cp packaging/conf/minion "$2/conf/"
  [ "$1" = linux ] || return 0
  cp packaging/conf/master "$2/conf/"
  sh scripts/stage.sh "$work/stage"
  for folder in systemd sysv openrc default logrotate sysusers.d tmpfiles.d; do
    cp -R "$work/stage/$folder" "$2/$folder"
  done
}

# names lists the files of a directory, sorted, the directory before what lies in it.
names() { find "$@" | LC_ALL=C sort; }

pack() { # OS DIRECTORY
  find "$2" -type d -exec chmod 0755 {} +
  find "$2" -type f ! -perm -u+x -exec chmod 0644 {} +
  find "$2" -type f -perm -u+x -exec chmod 0755 {} +
  find "$2" -exec touch -h -d "@$epoch" {} +
  if [ "$1" = windows ]; then
    rm -f "$out/$2.zip"
    names "$2" -type f | zip -q -X -D -@ "$out/$2.zip"
  else
    names "$2" | tar --no-recursion --format=ustar --owner=0 --group=0 --numeric-owner -cf - -T - | gzip -n -9 > "$out/$2.tar.gz"
  fi
}

for target in "$@"; do
  IFS=/ read -r os arch arm <<EOF
$target
EOF
  name=brine-$version-$os-$arch${arm:+v$arm}
  mkdir -p "$work/$name"
  compile "$os" "$arch" "$arm" "$work/$name"
  papers "$os" "$work/$name"
  (cd "$work" && pack "$os" "$name")
  rm -rf "${work:?}/$name" "$work/stage"
  echo "$name"
done
(cd "$out" && for file in brine-*.tar.gz brine-*.zip; do [ ! -e "$file" ] || sha256sum "$file"; done > SHA256SUMS)
