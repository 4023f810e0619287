test "$(stat -c '%a %U' /root/.ssh /root/.ssh/authorized_keys | tr '\n' ,)" = '700 root,600 root,'
ssh-keygen -F web1.example.com
not ssh-keygen -F web2.example.com
grep -x 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0q me@web1' /root/.ssh/authorized_keys
grep '^no-pty ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQ==' /root/.ssh/authorized_keys
