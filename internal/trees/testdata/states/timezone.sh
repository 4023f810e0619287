test "$(readlink -f /etc/localtime)" = /usr/share/zoneinfo/Europe/Berlin
