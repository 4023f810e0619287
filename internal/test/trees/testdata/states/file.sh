cd /srv/files
test "$(stat -c '%U %a' contents)" = 'games 640'
test "$(cat etc/deep/app.conf)" = 'port = 8080'
test "$(stat -c %a etc/deep)" = 711
test "$(stat -c %h contents)" = 2
test "$(cat tree/app.conf)" = 'port = 9090'
test ! -e tree/fix.patch
test "$(stat -c '%U' owned/by)" = games
test "$(readlink moved/link)" = ../contents
test "$(cat edited)" = "$(printf 'first\nsecond\nport = 22\nhost = a\nhost = b\n#end\nlast')"
test "$(cat decoded)" = 'get salted'
test -p fifo
test "$(cat patched)" = "$(printf 'one\n2\nthree')"
test "$(ls junk)" = ''
test "$(ls backups)" = "$(printf 'db-2026-01-01.sql\ndb-2026-01-04.sql')"
test "$(sed -n '/# begin/,/# end/p' contents-of-block)" = "$(printf '# begin\nfixed\nfrom far\nand farther\n# end')"
test "$(cat data.toml)" = "$(printf '[s]\nk = "v"')"
test "$(od -An -tx1 latin | tr -d ' \n')" = e90a
test "$(cat members)" = ada,grace
