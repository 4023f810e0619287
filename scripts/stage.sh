#!/bin/sh
# Puts what is shipped beside the programs into a directory: for each service whose program is in cmd/ its unit, scripts,
# settings and log rotation; the default configuration; the scripts of the packages.
# Usage: stage.sh DIRECTORY
set -eu
stage=$1
mkdir -p "$stage"/bin "$stage"/conf "$stage"/default "$stage"/deb "$stage"/libexec "$stage"/logrotate "$stage"/openrc \
  "$stage"/rpm "$stage"/systemd "$stage"/sysusers.d "$stage"/sysv "$stage"/tmpfiles.d

# fill writes a template of pkg/ for a service: fill TEMPLATE FILE.
fill() {
  sed -e "s/@NAME@/$name/g" -e "s/@DESCRIPTION@/$description/g" -e "s/@LOG@/$log/g" -e "s/@AFTER@/$after/g" -e "s/@USE@/$after/g" \
    "packaging/$1" > "$stage/$2"
}

# service stages the files of a service: service NAME LOG AFTER.
service() {
  name=$1 log=$2 after=$3
  if [ ! -d "cmd/$name" ]; then
    return
  fi
  description=$(sed -n 's/^Description=//p' "packaging/systemd/$name.service")
  cp "packaging/systemd/$name.service" "$stage/systemd/"
  fill sysv/salt.in "sysv/$name"
  fill openrc/salt.in "openrc/$name"
  fill default/salt.in "default/$name"
  fill logrotate/salt.in "logrotate/$name"
  for script in postinst prerm postrm; do
    fill "nfpm/deb/$script.in" "deb/$name.$script"
  done
  for script in post preun postun; do
    fill "nfpm/rpm/$script.in" "rpm/$name.$script"
  done
}

service salt-master master ''
service salt-minion minion ' salt-master'
service salt-syndic syndic ' salt-master'
service salt-api api ' salt-master'
cat packaging/default/minion.in >> "$stage/default/salt-minion"
cp packaging/nfpm/deb/salt-master.preinst "$stage/deb/"
cp packaging/nfpm/rpm/salt-master.pre "$stage/rpm/"
cp packaging/conf/master packaging/conf/minion "$stage/conf/"
cp packaging/sysusers.d/* "$stage/sysusers.d/"
cp packaging/tmpfiles.d/* "$stage/tmpfiles.d/"
cp packaging/libexec/* "$stage/libexec/"
chmod 0755 "$stage"/sysv/* "$stage"/openrc/* "$stage"/libexec/*
