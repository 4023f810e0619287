locale -a | grep -qx de_DE.utf8
