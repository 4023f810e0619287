systemctl is-active brine-up.service brine-up.timer brine-each@one.service brine-script.service
systemctl is-enabled brine-up.service brine-up.timer brine-each@one.service brine-each@two.service
not systemctl is-active brine-down.service
not systemctl is-enabled brine-down.service
test "$(readlink /run/systemd/system/brine-masked.service)" = /dev/null
ls /etc/rc2.d/S*brine-script /etc/rc0.d/K*brine-script

# The same script where systemd has not booted the system: debian_service with its programs. The directory hidden here tells it. States of
# services do nothing in this mode, as systemctl is there and cannot be asked.
unshare -m sh -eux <<'OLD'
mount -t tmpfs tmpfs /run/systemd
call() { salt-call --local --out newline_values_only "$@"; }
test "$(call test.provider service)" = debian_service
test "$(call service.status brine-script)" = True
test "$(call service.stop brine-script)" = True
test "$(call service.status brine-script)" = False
test "$(call service.start brine-script)" = True
kill -0 "$(cat /run/brine-script.pid)"
call service.restart brine-script
test "$(call service.disable brine-script)" = True
ls /etc/rc2.d/K*brine-script
test "$(call service.enable brine-script)" = True
ls /etc/rc2.d/S*brine-script
test "$(call service.missing brine-script)" = False
call state.single service.running brine-script | grep 'Running in OFFLINE mode. Nothing to do'
OLD
