#!/bin/sh
# Starts a master and two minions in a scratch directory on free loopback ports, gives them orders, and stops everything.
# Usage: demo.sh BIN
set -eu
bin=$(cd "$1" && pwd)
dir=$(mktemp -d /tmp/brine-demo.XXXXXX)
pids=

stop() {
  for pid in $pids; do
    kill "$pid" 2>/dev/null || true
  done
  for pid in $pids; do
    wait "$pid" 2>/dev/null || true
  done
  rm -rf "$dir"
}
trap stop EXIT
trap 'exit 1' INT TERM

# say prints a command as an operator types it, and runs it.
say() {
  printf '$'
  for word in "$@"; do
    case $word in
      *[!A-Za-z0-9_./=-]*) printf " '%s'" "$word" ;;
      *) printf ' %s' "$word" ;;
    esac
  done
  echo
  program=$1
  shift
  "$bin/$program" -c "$dir/master" "$@"
}

# until_true waits until a command succeeds, at most 20 seconds.
until_true() {
  for _ in $(seq 200); do
    if "$@" > /dev/null 2>&1; then
      return 0
    fi
    sleep 0.1
  done
  echo "gave up waiting for: $*" >&2
  cat "$dir"/*.log >&2
  return 1
}

# free_port prints a port of loopback that nobody listens on.
free_port() {
  port=$1
  while grep -qi "0100007F:$(printf '%04X' "$port") 00000000:0000 0A" /proc/net/tcp 2>/dev/null; do
    port=$((port + 1))
  done
  echo "$port"
}

publish=$(free_port $((20000 + $$ % 10000)))
ret=$(free_port $((publish + 1)))

mkdir -p "$dir/master"
cat > "$dir/master/master" <<EOF
interface: 127.0.0.1
publish_port: $publish
ret_port: $ret
root_dir: $dir/root
EOF
for id in web1 web2; do
  mkdir -p "$dir/$id"
  cat > "$dir/$id/minion" <<EOF
id: $id
master: 127.0.0.1
master_port: $ret
root_dir: $dir/$id/root
acceptance_wait_time: 1
EOF
done

echo "\$ salt-master"
"$bin/salt-master" -c "$dir/master" > "$dir/master.log" 2>&1 &
pids="$pids $!"
for id in web1 web2; do
  echo "\$ salt-minion          # with id: $id"
  "$bin/salt-minion" -c "$dir/$id" > "$dir/$id.log" 2>&1 &
  pids="$pids $!"
done

until_true test -e "$dir/root/etc/salt/pki/master/minions_pre/web1"
until_true test -e "$dir/root/etc/salt/pki/master/minions_pre/web2"
say salt-key -L
say salt-key -y -A
until_true "$bin/salt" -c "$dir/master" -t 1 web1 test.ping
until_true "$bin/salt" -c "$dir/master" -t 1 web2 test.ping
say salt '*' test.ping
say salt '*' cmd.run 'uname -s; id -un'
say salt '*' grains.item os
echo "All minions have answered."
