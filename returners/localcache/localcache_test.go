package localcache

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/returnertest"
)

func TestContract(t *testing.T) {
	returnertest.Run(t, func(t *testing.T) returnertest.Opener {
		dir := filepath.Join(t.TempDir(), "jobs")
		return func(context.Context) (returners.JobCache, error) { return Open(dir, Options{}) }
	})
}

func opened(t *testing.T, dir string, o Options) *Cache {
	t.Helper()
	c, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, name string, body []byte) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(t, os.WriteFile(name, body, 0o644))
}

func TestDamageCostsThatRecordOnly(t *testing.T) {
	dir := t.TempDir()
	c := opened(t, dir, Options{})
	hit, other := returnertest.Job(t, 1, "test.echo", "a", "b"), returnertest.Job(t, 2, "test.echo", "a")
	save(t, c, hit, "a", "b")
	save(t, c, other, "a")
	folder, err := hit.ID.Dir("")
	must(t, err)
	name := filepath.Join(dir, folder, "a", fileRecord)
	whole, err := os.ReadFile(name)
	must(t, err)
	for n := range len(whole) {
		for _, bad := range [][]byte{whole[:n], flipped(whole, n)} {
			must(t, os.WriteFile(name, bad, 0o600))
			got, err := c.Returns(t.Context(), hit.ID)
			if err != nil || len(got) != 1 || got[0].Minion != "b" {
				t.Fatalf("with damage at byte %d: Returns = %v, %v", n, got, err)
			}
		}
	}
	if fresh, err := c.SaveReturn(t.Context(), hit.ID,
		returnertest.Return(t, hit.ID, "a", "again", 1)); err != nil || !fresh {
		t.Errorf("SaveReturn in place of the damaged one = %v, %v", fresh, err)
	}
	wantAll(t, c, other, "a")
	name = filepath.Join(dir, folder, fileRecord)
	must(t, os.Remove(name))
	must(t, os.Mkdir(name, 0o700))
	if _, err := c.Job(t.Context(), hit.ID); !errors.Is(err, returners.ErrUnknownJob) {
		t.Errorf("Job with a folder in place of its record = %v", err)
	}
	if jobs, err := c.Jobs(t.Context(), returners.Filter{}); err != nil || len(jobs) != 1 ||
		jobs[0].ID != other.ID {
		t.Errorf("Jobs = %v, %v", jobs, err)
	}
	must(t, os.Remove(name))
	must(t, os.WriteFile(name, nil, 0o600))
	must(t, c.SaveJob(t.Context(), hit))
	if _, err := c.Job(t.Context(), hit.ID); err != nil {
		t.Errorf("the job saved again: %v", err)
	}
	if n, err := c.Clean(t.Context(), time.Now()); err != nil || n != 2 {
		t.Errorf("Clean = %d, %v", n, err)
	}
}

// TestDamagedSaltFiles damages files that Salt wrote: only that job or return is lost, and
// nothing loops.
func TestDamagedSaltFiles(t *testing.T) {
	for _, file := range []string{".load.p", ".minions.p", "jid", "web1/return.p", "web1/out.p"} {
		for name, damage := range map[string]func(t *testing.T, file string){
			"empty":  func(t *testing.T, f string) { must(t, os.WriteFile(f, nil, 0o600)) },
			"noise":  func(t *testing.T, f string) { must(t, os.WriteFile(f, bytes.Repeat([]byte{0xc1, 0xdd}, 50), 0o600)) },
			"folder": func(t *testing.T, f string) { must(t, os.Remove(f)); must(t, os.Mkdir(f, 0o700)) },
			"link":   func(t *testing.T, f string) { must(t, os.Remove(f)); must(t, os.Symlink("/etc/passwd", f)) },
		} {
			t.Run(file+" "+name, func(t *testing.T) {
				dir := t.TempDir()
				var jobs []job.ID
				for n := range 2 {
					id := returnertest.Job(t, n, "x").ID
					folder, err := id.Dir("")
					must(t, err)
					for f, body := range map[string]string{"jid": string(id),
						".load.p": "\x81\xa3fun\xa9test.ping", ".minions.p": "\x91\xa4web1",
						"web1/return.p": "\x81\xa6return\xc3", "web1/out.p": "\xa6nested"} {
						write(t, filepath.Join(dir, folder, f), []byte(body))
					}
					if n == 0 {
						damage(t, filepath.Join(dir, folder, file))
					}
					jobs = append(jobs, id)
				}
				c := opened(t, dir, Options{})
				if j, err := c.Job(t.Context(), jobs[0]); err == nil && file == ".load.p" &&
					strings.Contains(string(j.Load), "root") {
					t.Errorf("a link led out of the tree: %q", j.Load)
				}
				list, err := c.Returns(t.Context(), jobs[0])
				if err != nil || file == "web1/return.p" && len(list) != 0 {
					t.Errorf("Returns of the damaged job = %q, %v", list, err)
				}
				if _, err := c.Job(t.Context(), jobs[1]); err != nil {
					t.Error(err)
				}
				if list, err := c.Returns(t.Context(), jobs[1]); err != nil || len(list) != 1 {
					t.Errorf("Returns of the other job = %v, %v", list, err)
				}
				all, err := c.Jobs(t.Context(), returners.Filter{})
				if err != nil || len(all) == 0 || all[0].ID != jobs[1] {
					t.Errorf("Jobs = %v, %v", all, err)
				}
				if _, err := c.Clean(t.Context(), time.Now().Add(time.Hour)); err != nil {
					t.Errorf("Clean: %v", err)
				}
			})
		}
	}
}

func flipped(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 0x10
	return b
}

func save(t *testing.T, c *Cache, j *returners.Job, minions ...string) {
	t.Helper()
	must(t, c.SaveJob(t.Context(), j))
	for _, id := range minions {
		fresh, err := c.SaveReturn(t.Context(), j.ID, returnertest.Return(t, j.ID, id, id, 1))
		if err != nil || !fresh {
			t.Fatalf("SaveReturn(%q) = %v, %v", id, fresh, err)
		}
	}
}

func wantAll(t *testing.T, c *Cache, j *returners.Job, minions ...string) {
	t.Helper()
	got, err := c.Returns(t.Context(), j.ID)
	must(t, err)
	var ids []string
	for _, r := range got {
		ids = append(ids, r.Minion)
	}
	if !slices.Equal(ids, minions) {
		t.Errorf("returns of %q, want %q", ids, minions)
	}
}

// TestNamesStayInTheTree uses ids that would be other files, or lead out of the tree
// (CVE-2017-12791, CVE-2024-22231).
func TestNamesStayInTheTree(t *testing.T) {
	base := t.TempDir()
	c := opened(t, filepath.Join(base, "jobs"), Options{})
	names := []string{"jid", "nocache", "endtime", ".load.p", ".brine.p", "..", ".", "../../x",
		"/etc/x", "a/b", `a\b`, "a\x00b", "", strings.Repeat("long", 100), "web1"}
	j := returnertest.Job(t, 1, "test.echo")
	save(t, c, j, names...)
	wantAll(t, c, j, names...)
	if _, err := c.Job(t.Context(), j.ID); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(base)
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the tree: %v, %v", entries, err)
	}
	folder, err := j.ID.Dir("")
	must(t, err)
	seen := map[string]bool{}
	entries, err = os.ReadDir(filepath.Join(base, "jobs", folder))
	must(t, err)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			seen[e.Name()] = true
		}
	}
	if len(seen) != 2 || !seen["jid"] || !seen["web1"] {
		t.Errorf("Salt sees %v", seen)
	}
	unusual := *j
	unusual.ID = "../../../x"
	save(t, c, &unusual, "web1")
	wantAll(t, c, &unusual, "web1")
}

// TestIncompleteDirectoriesAreIgnored tests the files left behind when the program ends at any
// moment.
func TestIncompleteDirectoriesAreIgnored(t *testing.T) {
	dir := t.TempDir()
	c := opened(t, dir, Options{})
	j := returnertest.Job(t, 1, "test.echo", "a")
	save(t, c, j, "a")
	folder, err := j.ID.Dir("")
	must(t, err)
	write(t, filepath.Join(dir, folder, ".0123", "return.p"), []byte{0x81})
	write(t, filepath.Join(dir, ".brine", "new", "0123", ".load.p"), []byte{0x80})
	must(t, os.Mkdir(filepath.Join(dir, folder, "b"), 0o700)) // Salt was killed there
	old := time.Now().Add(-2 * workLife)
	must(t, os.Chtimes(filepath.Join(dir, ".brine", "new", "0123"), old, old))
	// another program is at work
	write(t, filepath.Join(dir, ".brine", "new", "4567", ".load.p"), []byte{0x80})
	must(t, c.Close())
	c = opened(t, dir, Options{})
	wantAll(t, c, j, "a")
	if jobs, err := c.Jobs(t.Context(), returners.Filter{}); err != nil || len(jobs) != 1 {
		t.Errorf("Jobs = %v, %v", jobs, err)
	}
	if _, err := c.Clean(t.Context(), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".brine", "new", "0123")); err == nil {
		t.Error("a half-made job stays")
	}
	if _, err := os.Stat(filepath.Join(dir, ".brine", "new", "4567", ".load.p")); err != nil {
		t.Error(err)
	}
	save(t, c, j, "b")
	wantAll(t, c, j, "a", "b")
}

func TestAJobThatSaltHasBegunIsCompleted(t *testing.T) {
	dir := t.TempDir()
	c := opened(t, dir, Options{})
	j := returnertest.Job(t, 1, "test.echo", "a")
	folder, err := j.ID.Dir("")
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(dir, folder), 0o700))
	save(t, c, j, "a")
	wantAll(t, c, j, "a")
}

func TestFilesAreTheMastersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	c := opened(t, dir, Options{EndTime: true})
	save(t, c, returnertest.Job(t, 1, "test.echo", "a"), "a")
	ends := 0
	must(t, filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
		if e.Name() == fileEndTime {
			ends++
			body, err := os.ReadFile(name)
			if err != nil || string(body) != "2026, Mar 01 12:00:01.123456" {
				t.Errorf("endtime %q, %v", body, err)
			}
		}
		return err
	}))
	if ends != 1 {
		t.Errorf("%d files endtime", ends)
	}
}
