#!/bin/sh
# The dnf of package testrpm: verbs and words as dnf has them, packages from a directory, the work done by rpm.
echo "$*" >> @LOG@
verb=
words=
value=
for word; do
	if [ -n "$value" ]; then value=; continue; fi
	case $word in
	--setopt) value=1 ;;
	-*) ;;
	*) if [ -z "$verb" ]; then verb=$word; else words="$words $word"; fi ;;
	esac
done

newest() { ls @REPO@ | grep "^$1-[0-9]" | sort -V | tail -n 1; }

# find prints the file that a word means.
find() {
	if [ -f "$1" ]; then echo "$1"; return; fi
	name=${1%.noarch}
	if [ -f "@REPO@/$name.noarch.rpm" ]; then echo "@REPO@/$name.noarch.rpm"; return; fi
	file=$(newest "$name")
	[ -n "$file" ] && echo "@REPO@/$file"
}

show() { rpm -qp --qf '%{NAME}.%{ARCH} %|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE} try\n' "$1"; }

put() {
	option=$1
	for word in $words; do
		file=$(find "$word")
		if [ -z "$file" ]; then
			echo "Error: Unable to find a match: $word"
			exit 1
		fi
		rpm -q "$(rpm -qp --qf '%{NAME}-%{VERSION}-%{RELEASE}' "$file")" > /dev/null && [ "$option" != --replacepkgs ] && continue
		rpm -U --nodeps --noscripts $option "$file" || exit 1
	done
}

upgrades() {
	for name in $(rpm -qa --qf '%{NAME}\n'); do
		file=$(newest "$name")
		[ -n "$file" ] && ! rpm -q "${file%.noarch.rpm}" > /dev/null && echo "@REPO@/$file"
	done
}

case $verb in
install) put "" ;;
downgrade) put --oldpackage ;;
reinstall) put --replacepkgs ;;
upgrade | update)
	for file in $(upgrades); do
		rpm -U --nodeps --noscripts "$file" || exit 1
	done
	;;
remove)
	for word in $words; do rpm -e --nodeps --noscripts "$word" || exit 1; done
	;;
check-update)
	[ -z "$(upgrades)" ] || exit 100
	;;
list)
	set -- $words
	what=$1
	[ $# -gt 0 ] && shift
	found=
	case $what in
	available)
		echo "Available Packages"
		for name; do
			file=$(newest "$name")
			[ -n "$file" ] && ! rpm -q "${file%.noarch.rpm}" > /dev/null && found=1 && show "@REPO@/$file"
		done
		;;
	*)
		echo "Available Upgrades"
		for file in $(upgrades); do found=1; show "$file"; done
		;;
	esac
	[ -n "$found" ] || { echo "Error: No matching Packages to list" >&2; exit 1; }
	;;
repository-packages)
	set -- $words
	[ "$1" = try ] || { echo "Error: Unknown repo: '$1'"; exit 1; }
	shift 2
	echo "Available Packages"
	for name in ${*:-$(ls @REPO@ | sed 's/-[0-9].*//' | sort -u)}; do
		for file in $(ls @REPO@ | grep "^$name-[0-9]"); do show "@REPO@/$file"; done
	done
	;;
versionlock)
	set -- $words
	case $1 in
	list) [ ! -f @STATE@/locks ] || cat @STATE@/locks ;;
	delete) shift; for name; do sed -i "/^$name-/d" @STATE@/locks; done ;;
	*) for name; do rpm -q --qf "$name-%|EPOCH?{%{EPOCH}}:{0}|:%{VERSION}-%{RELEASE}.*\n" "$name" >> @STATE@/locks || exit 1; done ;;
	esac
	;;
clean) ;;
*) echo "No such command: $verb"; exit 1 ;;
esac
