#!/bin/sh
# Compares Brine with an installed Salt where users' own Python runs: calls through __salt__, and a
# thousand states of their own.
#
#	scripts/python-speed.sh SALT_CALL BRINE_CALL
#
# Each argument is the command of a salt-call. Lower is better; every figure is the best of three.
set -eu
[ $# = 2 ] || { sed -n 's/^# \?//p' "$0" >&2; exit 2; }

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/etc" "$dir/modules" "$dir/states" "$dir/srv" "$dir/work/var/cache/salt/minion"
cat >"$dir/etc/minion" <<END
id: speed
root_dir: $dir/work
file_client: local
module_dirs: [$dir/modules]
states_dirs: [$dir/states]
file_roots: {base: [$dir/srv]}
grains_cache: true
log_level: error
END
cat >"$dir/modules/speed.py" <<END
import time


def empty():
    pass


def _per_call(name, count):
    begin = time.process_time()
    for _ in range(count):
        __salt__[name]()
    return (time.process_time() - begin) / count * 1e6


def own(count=20000):
    __salt__["speed.empty"]()
    return _per_call("speed.empty", count)


def builtin(count=5000):
    __salt__["test.ping"]()
    begin = time.perf_counter()
    for _ in range(count):
        __salt__["test.ping"]()
    return (time.perf_counter() - begin) / count * 1e6
END
cat >"$dir/states/speed.py" <<END
def same(name, number):
    return {"name": name, "result": True, "changes": {}, "comment": str(number)}
END
for n in $(seq 1000); do
  printf 'state %s:\n  speed.same:\n    - number: %s\n' "$n" "$n"
done >"$dir/srv/many.sls"
printf 'state:\n  speed.same:\n    - number: 1\n' >"$dir/srv/one.sls"

# measure prints one figure of a salt-call: what its function returns, or the seconds that it takes.
measure() { # COMMAND number|real|cpu ARGS...
  command="$1 -c $dir/etc --local" what=$2
  shift 2
  if [ "$what" = number ]; then
    $command --out newline_values_only "$@"
    return
  fi
  env time -p -o "$dir/times" $command --out quiet "$@" > "$dir/out" 2> "$dir/errors" || { cat "$dir/errors" >&2; exit 1; }
  awk -v what="$what" '{ t[$1] = $2 } END { print what == "real" ? t["real"] : t["user"] + t["sys"] }' "$dir/times"
}

best() { # ARGS of measure
  for _ in 1 2 3; do measure "$@"; done | sort -g | head -n 1
}

row() { # TITLE WHAT ARGS...
  title=$1
  shift
  salt=$(best "$salt_call" "$@")
  brine=$(best "$brine_call" "$@")
  awk -v t="$title" -v s="$salt" -v b="$brine" 'BEGIN { printf "%-44s %10.2f %10.2f %8.2f\n", t, s, b, b / s }'
}

salt_call=$1 brine_call=$2
printf '%-44s %10s %10s %8s\n' '' Salt Brine ratio
row 'own function through __salt__, µs of CPU' number speed.own
row 'built-in function through __salt__, µs' number speed.builtin
row 'one own state, s' real state.apply one
row 'a thousand own states, s' real state.apply many
row 'a thousand own states, s of CPU' cpu state.apply many
