case "$(readlink -f /etc/localtime)" in /usr/share/zoneinfo/Africa/Abidjan) ;; *) exit 1 ;; esac
