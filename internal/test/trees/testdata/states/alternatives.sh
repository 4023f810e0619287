update-alternatives --query brpager > /tmp/brpager
grep -x 'Value: /bin/cat' /tmp/brpager
grep -x 'Status: manual' /tmp/brpager
test "$(grep -c ^Alternative: /tmp/brpager)" = 2
test "$(readlink /usr/bin/brpager)" = /etc/alternatives/brpager
test "$(readlink /etc/alternatives/brpager)" = /bin/cat
rm /tmp/brpager
