test "$(getent group brstaff)" = brstaff:x:7100:
getent group brsystem | grep ':daemon$'
test "$(getent group brsystem | cut -d: -f3)" -lt 1000
getent group brmembers | grep -E ':(daemon,bin|bin,daemon)$'
not getent group brnone
grpck -r
not getent group brgoes
