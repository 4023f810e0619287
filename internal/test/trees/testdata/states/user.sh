getent passwd ann | grep -x 'ann:x:7201:[0-9]*:Ann Lee:/home/ann:/bin/sh'
id -Gn ann | grep brgroup
grep '^cat:!\$6\$' /etc/shadow
grep '^dan::' /etc/shadow
test -d /home/cat
test ! -e /var/lib/bob
not getent passwd eve
test ! -e /home/eve
pwck -rq || test $? = 2
