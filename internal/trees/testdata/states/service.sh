systemctl is-active brine-up.service brine-up.timer brine-each@one.service brine-script.service
systemctl is-enabled brine-up.service brine-up.timer brine-each@one.service brine-each@two.service
! systemctl is-active brine-down.service
! systemctl is-enabled brine-down.service
test "$(readlink /run/systemd/system/brine-masked.service)" = /dev/null
