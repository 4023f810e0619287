locale -a | grep -qx de_DE.utf8
grep -rqs 'LANG="\?de_DE.UTF-8' /etc/default/locale /etc/locale.conf
