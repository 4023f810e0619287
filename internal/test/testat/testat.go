// Package testat provides replacements of at and atq for tests, with the output of version 3.2.5 on
// Debian.
package testat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// programs store the lines of the queue in DIR/q and the scripts in DIR/s. Job 9 cannot be removed.
var programs = map[string]string{
	"atq": `[ -e DIR/deny ] && { echo "You do not have permission to use atq." >&2; exit 1; }
cat DIR/q/* 2>/dev/null; exit 0`,
	"at": `case $1 in
-c) shift; [ "$1" = -- ] && shift; cat DIR/s/"$1" 2>/dev/null || { echo "Cannot find jobid $1" >&2; exit 1; }; exit 0;;
-l) exec DIR/atq;;
-d) shift; for n; do [ -e DIR/q/"$n" ] || { echo "at: unknown jobid: $n" >&2; exit 1; }; [ $n = 9 ] || rm DIR/q/$n DIR/s/$n; done; exit 0;;
--) shift;;
-*) echo "at: option $1" >&2; exit 9;;
esac
case $1 in
"now +1 day") when="Tue Nov 24 03:06:00 2026";;
midnight) when="Tue Nov 24 00:00:00 2026";;
"9:09 11/09/27") when="Tue Nov  9 09:09:00 2027";;
past) echo "at: refusing to create job destined in the past" >&2; exit 1;;
*) printf 'syntax error. Last token seen: %s\nGarbled time\n' "${1%"${1#?}"}" >&2; exit 1;;
esac
n=1; while [ -e DIR/q/$n ]; do n=$((n+1)); done
printf '%s\t%s a %s\n' $n "$when" ${AT_USER:-root} > DIR/q/$n
{ printf '#!/bin/sh\n# atrun uid=0 gid=0\numask 22\n'; cat; } > DIR/s/$n
echo "warning: commands will be executed using /bin/sh" >&2
echo "job $n at $when" >&2`,
}

// Install puts the programs first in the search path for the duration of a test and returns their
// directory. A file named deny in it forbids the use of the queue.
func Install(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, sub := range []string{"q", "s"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, body := range programs {
		body = "#!/bin/sh\n" + strings.ReplaceAll(body, "DIR", dir) + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return dir
}
