test "$(sysctl -n net.ipv4.ip_default_ttl)" = 64
grep -x 'net.ipv4.ip_default_ttl = 64' /etc/sysctl.d/50-brine.conf
test "$(grep -rlx 'net.ipv4.ip_default_ttl = 64' /etc/sysctl.conf /etc/sysctl.d | wc -l)" = 2
