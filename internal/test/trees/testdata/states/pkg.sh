installed() { test "$(dpkg-query -W -f '${db:Status-Status}' "$1")" = installed; }
for name in hello tree figlet sl cowsay rolldice own-thing; do installed "$name"; done
test "$(apt-mark showhold | tr '\n' ,)" = rolldice,sl,
not dpkg -s telnetd
not dpkg -s jq
ls /var/cache/apt/archives/jq_*.deb
test -x /usr/games/sl
dpkg --audit
