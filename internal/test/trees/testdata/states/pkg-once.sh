not dpkg -s sysvbanner
not dpkg -s dictd
dpkg --audit
