#!/bin/sh
# Builds every program for every platform into dist/ and prints a table of sizes.
# Usage: cross.sh GO LDFLAGS TAGS
set -eu
go=$1
ldflags=$2
tags=${3:-}
export CGO_ENABLED=0

build() { # OS ARCH ARM PROGRAM TAG
  name=$4${5:+-$5}
  out=dist/$1-$2${3:+v$3}/$name
  [ "$1" = windows ] && out=$out.exe
  # A small build goes without inlining, as in the Makefile.
  GOOS=$1 GOARCH=$2 GOARM=$3 "$go" build -trimpath ${5:+-gcflags=all=-l} -ldflags "$ldflags" -tags "$tags${5:+,$5}" -o "$out" "./cmd/$4"
  printf '%-16s %-20s %6.1f MB\n' "$1/$2${3:+v$3}" "$name" "$(wc -c < "$out" | awk '{print $1 / 1000000}')"
}

for target in linux/amd64/ linux/arm64/ linux/arm/6 linux/arm/7 linux/386/ linux/riscv64/; do
  os=${target%%/*}; rest=${target#*/}; arch=${rest%%/*}; arm=${rest#*/}
  for dir in cmd/salt*; do
    build "$os" "$arch" "$arm" "${dir#cmd/}" ""
  done
  build "$os" "$arch" "$arm" salt-minion small
done
for target in darwin/amd64 darwin/arm64 windows/amd64 freebsd/amd64; do
  build "${target%/*}" "${target#*/}" "" salt-minion ""
  build "${target%/*}" "${target#*/}" "" salt-call ""
done
