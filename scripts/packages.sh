#!/bin/sh
# Writes the deb or rpm packages of the programs in BIN, linux on ARCH (as Go names it), into OUT. Each package has the
# programs of its list that are in cmd/; a package without its service is not made.
# Usage: packages.sh deb|rpm GO VERSION ARCH BIN OUT
set -eu
format=$1 go=$2 version=$3 ARCH=$4 bin=$5 out=$6
STAGE=$(mktemp -d "${TMPDIR:-/tmp}/brine-stage.XXXXXX")
trap 'rm -rf "$STAGE"' EXIT
trap 'exit 1' INT TERM
PACKAGE_VERSION=$(sh scripts/version.sh "$version")
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || echo 0)}
PACKAGE_TIME=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
COMMON=salt-common
[ "$format" = deb ] || COMMON=salt
export STAGE ARCH PACKAGE_VERSION PACKAGE_TIME COMMON SOURCE_DATE_EPOCH

mkdir -p "$out"
sh scripts/stage.sh "$STAGE"
# The user salt exists where a package is installed, so the master becomes that one.
sed -i 's/^#user: root$/user: salt/' "$STAGE/conf/master"
(cd packaging/nfpm && CGO_ENABLED=0 GOOS='' GOARCH='' "$go" build -o "$STAGE/nfpm" .)

write() { "$STAGE/nfpm" "$format" "$1" "$out"; }

# service writes the package of a service: service NAME PROGRAMS. CONTENTS are lines of more contents.
service() {
  NAME=$1 programs=$2
  if [ ! -d "cmd/$NAME" ]; then
    return
  fi
  mkdir "$STAGE/bin/$NAME"
  for program in $programs; do
    [ ! -d "cmd/$program" ] || install -m 0755 "$bin/$program" "$STAGE/bin/$NAME/"
  done
  DESCRIPTION=$(sed -n 's/^Description=//p' "$STAGE/systemd/$NAME.service")
  export NAME DESCRIPTION CONTENTS DEPENDS_DEB DEPENDS_RPM PREINSTALL_DEB PREINSTALL_RPM
  write packaging/nfpm/service.yaml
}

write packaging/nfpm/salt-common.yaml

DEPENDS_DEB='' DEPENDS_RPM='' PREINSTALL_DEB='' PREINSTALL_RPM=''
CONTENTS="\
  - {src: '$STAGE/conf/minion', dst: /etc/salt/minion, type: config|noreplace, file_info: {mode: 0640}}
  - {dst: /etc/salt/minion.d, type: dir, file_info: {mode: 0755}}"
service salt-minion 'salt-minion salt-call'

PREINSTALL_DEB="preinstall: '$STAGE/deb/salt-master.preinst', "
PREINSTALL_RPM="preinstall: '$STAGE/rpm/salt-master.pre', "
DEPENDS_DEB=', passwd' DEPENDS_RPM=', shadow-utils'
CONTENTS="\
  - {src: '$STAGE/conf/master', dst: /etc/salt/master, type: config|noreplace, file_info: {mode: 0644}}
  - {src: '$STAGE/sysusers.d/salt-master.conf', dst: /usr/lib/sysusers.d/salt-master.conf, file_info: {mode: 0644}}
  - {dst: /etc/salt/master.d, type: dir, file_info: {mode: 0755}}"
service salt-master 'salt-master salt salt-key salt-run salt-cp'

PREINSTALL_DEB='' PREINSTALL_RPM='' CONTENTS=''
DEPENDS_DEB=", 'salt-master (>= $PACKAGE_VERSION)'" DEPENDS_RPM=", 'salt-master >= $PACKAGE_VERSION'"
service salt-syndic salt-syndic
service salt-api salt-api
