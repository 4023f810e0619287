test "$(cat /srv/plain/top/sub/b)" = two
test "$(readlink /srv/plain/top/l)" = a
test "$(cat /srv/options/sub/b)" = two
test "$(stat -c %U:%G /srv/owner/a /srv/owner/sub/b | uniq)" = games:games
test ! -e /srv/none
test "$(cat /srv/hashed/top/a)" = one
