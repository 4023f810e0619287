//go:build unix

package program_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/loader"
)

// waitFor fails the test unless holds returns true within half a minute.
func waitFor(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for by := time.Now().Add(30 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(by) {
			t.Fatalf("%s: waited 30s", what)
		}
	}
}

// isThere returns a function that reports whether a file exists.
func isThere(path string) func() bool {
	return func() bool {
		_, err := os.Stat(path)
		return err == nil
	}
}

// TestTrustIsCheckedAtEachStart checks that a program is not run after others can change it.
func TestTrustIsCheckedAtEachStart(t *testing.T) {
	d := newDaemon(t, nil)
	target := &daemon{dir: t.TempDir()}
	target.write(t, "own", answers(`"f": {}`, `*) echo '{"return": 1}' ;;`), 0o644)
	path := filepath.Join(target.dir, "own")
	if err := os.Symlink(path, filepath.Join(d.dir, "own")); err != nil {
		t.Fatal(err)
	}
	d.want(t, "1", "own.f")
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	want := "error: start the program " + d.dir + "/own: " + path + " has mode 0666: other users…"
	d.want(t, want, "own.f")
}

// TestLinkOfAnotherUser checks that a program behind another user's link is not run.
func TestLinkOfAnotherUser(t *testing.T) {
	need.Root(t, "to create another user's link")
	d := newDaemon(t, map[string]string{"real": answers(`"f": {}`, `*) echo '{"return": 1}' ;;`)})
	link := filepath.Join(d.dir, "own")
	if err := os.Symlink("real", link); err != nil {
		t.Fatal(err)
	}
	d.want(t, "1", "own.f")
	if err := os.Lchown(link, 54321, 54321); err != nil {
		t.Fatal(err)
	}
	want := link + " belongs to the user with the id 54321, who could change the code"
	d.want(t, "error: start the program "+link+": "+want, "own.f")
	d.functions.Reload()
	if d.functions.Has("own.f") {
		t.Error("the program behind the link is loaded")
	}
	if !strings.Contains(d.log.String(), want) {
		t.Errorf("the log has no %q:\n%s", want, d.log)
	}
}

// TestVariablesOfTheDaemon checks that programs do not get what a service manager sets for the
// daemon alone.
func TestVariablesOfTheDaemon(t *testing.T) {
	for _, name := range []string{"NOTIFY_SOCKET", "BRINE_SECRET", "OWN_VARIABLE"} {
		t.Setenv(name, "set")
	}
	const print = `"${NOTIFY_SOCKET-no}${BRINE_SECRET-no}${OWN_VARIABLE-no}"`
	d := newDaemon(t, map[string]string{"own": "#!/bin/sh\nset -- $1 " + print + `
case $1 in
describe) echo "{\"functions\": {\"f\": {\"doc\": \"$2\"}}}" ;;
run) while read -r call; do echo "{\"return\": \"$2\"}"; done ;;
esac
`})
	d.want(t, "'nonoset'", "own.f")
	f, ok := d.functions.Func("own.f")
	if !ok {
		t.Fatal("own.f is missing")
	}
	if doc := f.Spec().Doc; doc != "nonoset" {
		t.Errorf("describe has the variables %q, want nonoset", doc)
	}
}

// TestNestedCallsHaveALimit checks that a program that calls itself forever gets an error.
func TestNestedCallsHaveALimit(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	d := newDaemon(t, map[string]string{"own": answers(`"again": {}`,
		`*) echo >>`+count+`
		if [ $(wc -l <`+count+`) -gt 60 ]; then echo '{"return": "no limit"}'
		else echo '{"salt": "own.again"}'; read -r answer; echo "$answer"; fi ;;`)})
	_, err := d.functions.Invoke(t.Context(), "own.again", nil, nil)
	want := "calls between Salt and programs nest deeper than 50"
	e, ok := errors.AsType[*loader.Error](err)
	if !ok || e.Class != "RecursionError" || e.Text != want {
		t.Errorf("own.again = %v, want a RecursionError: %s", err, want)
	}
}

// TestBrokenProcessesAreClosed checks that broken processes hold no files until their job ends.
func TestBrokenProcessesAreClosed(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": answers(`"ends": {}`, `*) exit 3 ;;`)})
	ctx, scope := loader.WithScope(t.Context())
	defer scope.Close()
	const calls = 20
	before := 0
	for i := range calls + 1 {
		if _, err := d.functions.Invoke(ctx, "own.ends", nil, nil); err == nil {
			t.Fatal("the program answered")
		}
		if i == 0 {
			before = openFiles(t)
		}
	}
	if after := openFiles(t); after >= before+calls {
		t.Errorf("%d calls raised the number of open files from %d to %d", calls, before, after)
	}
}

// openFiles returns the number of files that this process has open.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestClosedOutputEndsTheCall checks a program that closes its output without an answer.
func TestClosedOutputEndsTheCall(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": answers(`"f": {}`,
		`*) exec >/dev/null; read -r more ;;`)})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err := d.functions.Invoke(ctx, "own.f", nil, nil)
	want := "the program " + d.dir + "/own closed its output before it answered"
	if err == nil || err.Error() != want {
		t.Errorf("own.f = %v, want %s", err, want)
	}
}

// TestOutputOfAChild checks a program that ends without an answer while a child of it still has
// its output.
func TestOutputOfAChild(t *testing.T) {
	dir := t.TempDir()
	d := newDaemon(t, map[string]string{"own": answers(`"f": {}`,
		`*) (while test -e `+dir+`; do sleep 0.01; done) 2>/dev/null & exit 3 ;;`)})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err := d.functions.Invoke(ctx, "own.f", nil, nil)
	want := "the program ended before it answered: exit status 3"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("own.f = %v, want %s", err, want)
	}
}

// TestDescribeHoldsUpNoOther checks that a slow describe does not delay other programs.
func TestDescribeHoldsUpNoOther(t *testing.T) {
	started, proceed := filepath.Join(t.TempDir(), "started"), filepath.Join(t.TempDir(), "proceed")
	slow := "#!/bin/sh\n# describe\ntouch " + started + "\nwhile ! test -e " + proceed +
		"; do sleep 0.01; done\necho '{\"functions\": {}}'\n"
	d := newDaemon(t, map[string]string{"slow": slow, "quick": answers(`"f": {}`, "")})
	files := d.host.Files("modules", d.functions.Env(), nil)
	done := make(chan int, 2)
	for range 2 { // both wait for one describe
		go func() { done <- len(files.Plugins("slow")) }()
	}
	waitFor(t, "start of describe", isThere(started))
	quick := make(chan struct{})
	go func() {
		files.Plugins("quick")
		close(quick)
	}()
	select {
	case <-quick:
	case <-time.After(10 * time.Second):
		t.Error("a program waits for the describe of another one")
	}
	if err := os.WriteFile(proceed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if n := <-done; n != 1 {
			t.Errorf("slow has %d plug-ins", n)
		}
	}
}

// TestCloseEndsDescribe checks that the end of the host does not wait for a program's description.
func TestCloseEndsDescribe(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	d := newDaemon(t, map[string]string{"own": "#!/bin/sh\n# describe\ntouch " + started +
		"\nexec sleep 1000\n"})
	missing := make(chan string)
	go func() { missing <- d.functions.MissingText("own.f") }()
	waitFor(t, "start of describe", isThere(started))
	if err := d.host.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := <-missing, "the programs of users have been ended"; !strings.Contains(got, want) {
		t.Errorf("own is missing because %q, want %q", got, want)
	}
}
