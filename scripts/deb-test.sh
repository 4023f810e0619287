#!/bin/sh
# Takes the deb packages through their life in a minimal Debian of their own: installed, configured, at work, upgraded
# while a job runs and by a job, removed by a job, purged. It ends with 0 when all went as it should. Needs root,
# debootstrap, unshare and ip; processes and network are a namespace's, so nothing of the host is touched.
#
# The Debian system is unpacked once, from the mirror that DEBIAN_MIRROR names, and kept in
# ${XDG_CACHE_HOME:-${TMPDIR:-/tmp}}/brine-debian.
#
# Usage: deb-test.sh OLD NEW     directories with the packages of two versions
set -eu
suite=bookworm
self=$(cd "$(dirname "$0")" && pwd)/deb-test.sh

# system prints the directory of the Debian system, which is made when it is not there.
system() {
  cache=${XDG_CACHE_HOME:-${TMPDIR:-/tmp}}/brine-debian
  if [ ! -d "$cache" ]; then
    mkdir -p "$cache"
    chmod 0700 "$cache"
  fi
  if [ "$(stat -c %u "$cache")" != 0 ] || [ -h "$cache" ]; then
    echo "$cache is not root's" >&2
    return 1
  fi
  if [ ! -d "$cache/$suite" ]; then
    fresh=$(mktemp -d "$cache/new.XXXXXX")
    if ! debootstrap --variant=minbase "$suite" "$fresh" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" > "$cache/log" 2>&1; then
      tail -n 20 "$cache/log" >&2
      rm -rf "$fresh"
      return 1
    fi
    chmod 0755 "$fresh"
    rm -rf "$fresh"/var/cache/apt/archives/*.deb "$fresh"/var/lib/apt/lists/*
    # Another run may have been faster.
    mv -T "$fresh" "$cache/$suite" 2> /dev/null || rm -rf "$fresh"
  fi
  echo "$cache/$suite"
}

# outside prepares the system and enters the namespaces.
outside() {
  debian=$(system)
  work=$(mktemp -d "${TMPDIR:-/tmp}/brine-deb.XXXXXX")
  trap 'rm -rf --one-file-system "$work"' EXIT
  trap 'exit 1' INT TERM
  mkdir "$work/root"
  cp -a "$debian/." "$work/root"
  mkdir "$work/root/debs"
  cp -R "$1" "$work/root/debs/old"
  cp -R "$2" "$work/root/debs/new"
  cp "$self" "$work/root/debs/test"
  unshare --mount --pid --net --uts --ipc --fork --kill-child sh "$self" --between "$work/root"
}

# between runs in the namespaces and enters the system.
between() {
  ip link set lo up
  hostname web1
  echo web1 > "$1/etc/hostname"
  echo '127.0.0.1 localhost web1' > "$1/etc/hosts"
  : > "$1/etc/resolv.conf"
  mount -t proc proc "$1/proc"
  mount -t tmpfs tmpfs "$1/run"
  exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive chroot "$1" sh /debs/test --inside
}

# ---- What follows runs inside.

fail() {
  echo "FAIL: $*" >&2
  for file in /tmp/output /var/log/salt/*; do
    [ ! -f "$file" ] || { echo "--- $file" >&2; tail -n 30 "$file" >&2; }
  done
  exit 1
}

step() { echo "== $(date +%T) $*"; }

# eventually waits for a command to succeed: eventually SECONDS COMMAND.
eventually() {
  tries=$(($1 * 10))
  shift
  until "$@" > /tmp/output 2>&1; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || fail "not in time: $*"
    sleep 0.1
  done
}

# code checks the exit code of a command: code CODE COMMAND.
code() {
  want=$1
  shift
  "$@" > /tmp/output 2>&1 && got=0 || got=$?
  [ "$got" = "$want" ] || fail "$* ends with $got, not with $want"
}

# processes prints the ids of Salt's processes that live.
processes() {
  for status in /proc/[0-9]*/status; do
    sed -n '/^Name:\tsalt/!q;/^State:\tZ/q;s/^Pid:\t//p' "$status" 2> /dev/null || true
  done
}

none_lives() { [ -z "$(processes)" ]; }

# list prints all that is on the disk but for what every installation changes, and what this test needs.
list() {
  find / -xdev \( -path /debs -o -path /proc -o -path /tmp -o -path /var/log -prune \) -o -print |
    grep -v -E '^/(etc/(passwd|group|shadow|gshadow|subuid|subgid)-|etc/.pwd.lock|var/(lib/dpkg|cache)/.*-old|proc|tmp|debs|run|usr/sbin/policy-rc.d)' | LC_ALL=C sort
  find /var/log /run -xdev | grep -i salt || true
}

# settled reports whether the minion runs the program that is on the disk: an upgrade has then ended.
settled() { [ "$(readlink "/proc/$(cat /run/salt-minion.pid)/exe")" = /usr/bin/salt-minion ]; }

ping() { salt -t 2 web1 test.ping | grep -q True; }

installed() { [ "$(dpkg-query -W -f '${db:Status-Status} ${Version}' "$1")" = "installed $2" ]; }

version_of() { dpkg-deb -f "$1" Version; }

# running_version prints the version of the program that a service runs.
running_version() { "/proc/$(cat "/run/$1.pid")/exe" --versions-report | sed -n 's/^ *Brine: //p'; }

# policy makes policy-rc.d answer that services may be started (0) or not (101). Without one invoke-rc.d blocks, since there
# is no init here.
policy() {
  printf '#!/bin/sh\nexit %s\n' "$1" > /usr/sbin/policy-rc.d
  chmod 0755 /usr/sbin/policy-rc.d
}

install_without_start() {
  step "install; policy-rc.d forbids to start"
  policy 101
  code 0 dpkg -i /debs/old/*.deb
  none_lives || fail "started against policy-rc.d"
  policy 0
  for service in salt-master salt-minion; do
    installed $service "$old" || fail "$service is not installed"
    code 3 /etc/init.d/$service status
    code 7 /etc/init.d/$service reload
    code 2 /etc/init.d/$service nonsense
    [ -e /etc/rc2.d/S01$service ] || fail "$service does not start with the system"
  done
  [ "$(stat -c '%a %U' /etc/salt/pki/master)" = '700 salt' ] || fail "mode of /etc/salt/pki/master"
  [ "$(stat -c '%a %U' /etc/salt/pki/minion)" = '700 root' ] || fail "mode of /etc/salt/pki/minion"
}

configure_and_start() {
  step "configure and start"
  printf 'id: web1\nmaster: 127.0.0.1\nacceptance_wait_time: 1\nrandom_reauth_delay: 1\nrecon_max: 1000\n' >> /etc/salt/minion
  echo "gather_job_timeout: 1" > /etc/salt/master.d/test.conf
  cp /etc/salt/minion /tmp/minion
  for service in salt-master salt-minion; do
    code 0 /etc/init.d/$service start
    code 0 /etc/init.d/$service start
    code 0 /etc/init.d/$service status
  done
  grep -q "^Uid:.$(id -u salt).$(id -u salt).$(id -u salt).$(id -u salt)\$" "/proc/$(cat /run/salt-master.pid)/status" ||
    fail "the master does not run as salt"
  eventually 20 test -e /etc/salt/pki/master/minions_pre/web1
  code 0 salt-key -y -A
  eventually 20 ping
  [ "$(running_version salt-minion)" = "$(cat /debs/old/VERSION)" ] || fail "version of the minion"
}

reload_and_restart() {
  step "reload and restart"
  for service in salt-master salt-minion; do
    before=$(cat /run/$service.pid)
    code 0 /etc/init.d/$service reload
    code 0 /etc/init.d/$service force-reload
    sleep 0.5
    code 0 /etc/init.d/$service status
    [ "$(cat /run/$service.pid)" = "$before" ] || fail "$service is another process after a reload"
    code 0 /etc/init.d/$service restart
    code 0 /etc/init.d/$service try-restart
    [ "$(cat /run/$service.pid)" != "$before" ] || fail "$service is the same process after a restart"
  done
  eventually 20 ping
}

upgrade_during_job() {
  step "upgrade while a job runs"
  rm -f /tmp/upgraded
  salt -t 60 web1 cmd.run 'until [ -e /tmp/upgraded ]; do sleep 0.1; done; echo done' > /tmp/job 2>&1 &
  job=$!
  eventually 10 sh -c 'salt-call --local --out=json saltutil.running | grep cmd.run'
  before=$(cat /run/salt-minion.pid)
  code 0 dpkg -i /debs/new/salt-common_*.deb /debs/new/salt-minion_*.deb
  kill -0 "$job" || fail "the job ended before the upgrade; it proves nothing: $(cat /tmp/job)"
  [ "$(cat /run/salt-minion.pid)" = "$before" ] || fail "the minion was restarted while a job ran"
  touch /tmp/upgraded
  wait "$job" || fail "the job: $(cat /tmp/job)"
  [ "$(sed -n 2p /tmp/job)" = '    done' ] || fail "the job returned: $(cat /tmp/job)"
  eventually 20 settled
  eventually 20 ping
  [ "$(running_version salt-minion)" = "$(cat /debs/new/VERSION)" ] || fail "the old minion runs"
  cmp /tmp/minion /etc/salt/minion || fail "/etc/salt/minion was changed"
  code 0 dpkg -i /debs/new/salt-master_*.deb
  [ "$(running_version salt-master)" = "$(cat /debs/new/VERSION)" ] || fail "the old master runs"
  eventually 20 ping
}

upgrade_by_job() {
  step "a job replaces the package of its minion"
  # The package before goes back in place: for dpkg a version is as good as another.
  salt -t 60 web1 cmd.run_all 'dpkg -i /debs/old/salt-minion_*.deb' > /tmp/job 2>&1 || fail "the job: $(cat /tmp/job)"
  grep -A 1 'retcode:' /tmp/job | grep -q '^ *0$' || fail "the job returned: $(cat /tmp/job)"
  installed salt-minion "$old" || fail "dpkg was interrupted: $(dpkg -l salt-minion)"
  eventually 20 settled
  eventually 20 ping
  [ "$(running_version salt-minion)" = "$(cat /debs/old/VERSION)" ] || fail "the new minion still runs"
}

remove_by_job() {
  step "a job removes the package of its minion"
  minion=$(cat /run/salt-minion.pid)
  salt -t 60 web1 cmd.run_all 'dpkg -r salt-minion' > /tmp/job 2>&1 || fail "the job: $(cat /tmp/job)"
  grep -A 1 'retcode:' /tmp/job | grep -q '^ *0$' || fail "the job returned: $(cat /tmp/job)"
  eventually 20 sh -c "! kill -0 $minion"
  code 4 /etc/init.d/salt-minion status
  cmp /tmp/minion /etc/salt/minion || fail "/etc/salt/minion was not kept"
}

install_and_start() {
  step "install the new version, which starts by itself"
  code 0 dpkg -i /debs/new/*.deb
  for service in salt-master salt-minion; do
    code 0 /etc/init.d/$service status
    [ "$(running_version $service)" = "$(cat /debs/new/VERSION)" ] || fail "another $service runs"
  done
}

purge() {
  step "remove and purge"
  code 0 dpkg -r salt-minion salt-api salt-syndic salt-master
  eventually 5 none_lives
  [ -f /etc/salt/master ] || fail "/etc/salt/master was not kept"
  code 0 dpkg -P salt-minion salt-api salt-syndic salt-master salt-common
  none_lives || fail "processes live"
  ! getent passwd salt || fail "the user salt is left"
  list > /tmp/after
  diff /tmp/before /tmp/after || fail "left behind or lost"
}

inside() {
  old=$(version_of /debs/old/salt-minion_*.deb)
  dpkg --compare-versions "$old" lt "$(version_of /debs/new/salt-minion_*.deb)" || fail "the new version is not newer"
  list > /tmp/before
  install_without_start
  configure_and_start
  reload_and_restart
  upgrade_during_job
  upgrade_by_job
  remove_by_job
  purge
  install_and_start
  purge
  echo "All went as it should."
}

case ${1-} in
  --between) between "$2" ;;
  --inside) inside ;;
  *) outside "$1" "$2" ;;
esac
