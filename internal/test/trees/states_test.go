//go:build linux

package trees

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/sources"
)

// leastStates is the minimum number of states to test on each system.
const leastStates = 120

// not is a function for scripts: sh -e does not end at a failing command with ! before it.
const not = "not() { if \"$@\"; then exit 1; fi; }\n"

// TestStates applies each SLS file of testdata/states to a Debian system: in test mode, which must
// not write, normally, and again, which must change nothing; files whose names end in -once have
// states that always change something. The script beside an SLS file checks the system afterwards;
// commands that must fail have the word not before them.
//
// BRINE_SLS lists the SLS files to apply, separated by commas.
func TestStates(t *testing.T) {
	require(t)
	salt := build(t)
	for _, tr := range trees(t, "bookworm", "trixie") {
		t.Run(tr.suite, func(t *testing.T) {
			s := boot(t, tr)
			s.install(t, salt)
			states := 0
			for _, name := range names(t) {
				t.Run(name, func(t *testing.T) { states += s.check(t, name) })
			}
			t.Logf("%s: %d states", tr.suite, states)
			if states < leastStates && os.Getenv("BRINE_SLS") == "" {
				t.Errorf("%d states are less than %d", states, leastStates)
			}
		})
	}
}

// build builds salt-call and returns its bytes.
func build(t *testing.T) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "salt-call")
	cmd := exec.Command("go", "build", "-o", out, "./cmd/salt-call")
	cmd.Dir = sources.Root(t)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, said)
	}
	src, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// names returns the names of the SLS files to apply.
func names(t *testing.T) (list []string) {
	t.Helper()
	if asked := os.Getenv("BRINE_SLS"); asked != "" {
		return strings.Split(asked, ",")
	}
	files, err := filepath.Glob("testdata/states/*.sls")
	if err != nil || len(files) == 0 {
		t.Fatalf("no states: %v", err)
	}
	for _, file := range files {
		list = append(list, strings.TrimSuffix(filepath.Base(file), ".sls"))
	}
	return list
}

// install makes the system a masterless minion, with the states of testdata.
func (s *system) install(t *testing.T, salt []byte) {
	t.Helper()
	s.write(t, "/usr/bin/salt-call", salt, 0o755)
	s.write(t, "/etc/salt/minion", []byte("id: web1\nfile_client: local\n"), 0o644)
	err := fs.WalkDir(os.DirFS("testdata/states"), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		src, err := os.ReadFile(filepath.Join("testdata/states", name))
		if err == nil {
			s.write(t, path.Join("/srv/salt", name), src, 0o644)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := s.command("apt-get", "update", "-qq").CombinedOutput(); err != nil {
		t.Fatalf("apt-get update: %v\n%s", err, out)
	}
}

// check applies one SLS file and returns its number of states.
func (s *system) check(t *testing.T, name string) int {
	before := s.written(t)
	s.apply(t, name, "test=True")
	if after := s.written(t); !maps.Equal(before, after) {
		t.Errorf("test mode has written:\n%s", strings.Join(different(before, after), "\n"))
	}
	first := s.apply(t, name)
	for _, r := range first {
		if r.Result == nil || !*r.Result {
			t.Errorf("%s", r)
		}
	}
	for _, r := range s.apply(t, name) {
		if r.Result == nil || !*r.Result || len(r.Changes) > 0 && !strings.HasSuffix(name, "-once") {
			t.Errorf("for the second time: %s", r)
		}
	}
	if script, err := os.ReadFile("testdata/states/" + name + ".sh"); !errors.Is(err, fs.ErrNotExist) {
		cmd := s.command("sh", "-eux")
		cmd.Stdin = io.MultiReader(strings.NewReader(not), bytes.NewReader(script))
		if out, failed := cmd.CombinedOutput(); err != nil || failed != nil {
			t.Errorf("%s.sh: %v, %v\n%s", name, err, failed, out)
		}
	}
	return len(first)
}

// A result is that of one state.
type result struct {
	Key     string         `json:"-"`
	Result  *bool          `json:"result"`
	Changes map[string]any `json:"changes"`
	Comment any            `json:"comment"`
}

// String returns the result as it came.
func (r result) String() string {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err.Error()
	}
	return r.Key + ": " + string(text)
}

// apply calls state.apply and returns the result of each state.
func (s *system) apply(t *testing.T, name string, args ...string) []result {
	t.Helper()
	cmd := s.command(append([]string{"salt-call", "--local", "--out", "json", "-l", "warning",
		"state.apply", name}, args...)...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	failed := cmd.Run()
	var answer struct{ Local map[string]result }
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil || len(answer.Local) == 0 {
		t.Fatalf("state.apply %s %s: %v, %v\n%s%s", name, strings.Join(args, " "), failed, err,
			out.String(), said.String())
	}
	t.Logf("state.apply %s %s: %d states\n%s", name, strings.Join(args, " "), len(answer.Local),
		said.String())
	var list []result
	for _, key := range slices.Sorted(maps.Keys(answer.Local)) {
		r := answer.Local[key]
		r.Key = key
		list = append(list, r)
	}
	return list
}

// different returns the entries that two listings do not share.
func different(before, after map[string]string) (list []string) {
	for name, now := range after {
		if before[name] != now {
			list = append(list, name+": "+before[name]+" -> "+now)
		}
	}
	for name, was := range before {
		if after[name] == "" {
			list = append(list, name+": "+was+" -> nothing")
		}
	}
	slices.Sort(list)
	return list
}
