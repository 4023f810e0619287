package localcache

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
)

// tree is a job of the vectors: its files by path.
type tree struct {
	id    job.ID
	dir   string
	files map[string][]byte
}

func trees(t *testing.T, do func(t *testing.T, v tree)) {
	t.Helper()
	for _, c := range vectors.Load(t, "09-disk.json").Section("job_cache") {
		t.Run(c.Name, func(t *testing.T) {
			v := tree{id: job.ID(c.Text("jid")),
				dir: strings.TrimPrefix(c.Text("directory"), "jobs/"), files: map[string][]byte{}}
			for _, f := range c.Sub("files") {
				if f.Text("type") == "file" {
					v.files[f.Text("path")] = f.Bytes("bytes")
				}
			}
			do(t, v)
		})
	}
}

func (v tree) lay(t *testing.T, dir string) {
	t.Helper()
	for name, body := range v.files {
		write(t, filepath.Join(dir, v.dir, name), body)
	}
}

// returns lists the minions that have returned.
func (v tree) returns() []string {
	var ids []string
	for name := range v.files {
		if id, ok := strings.CutSuffix(name, "/return.p"); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func TestVectorTreesOfSaltAreRead(t *testing.T) {
	trees(t, func(t *testing.T, v tree) {
		dir := t.TempDir()
		v.lay(t, dir)
		c := opened(t, dir, Options{})
		j, err := c.Job(t.Context(), v.id)
		must(t, err)
		if load := v.files[".load.p"]; load != nil && !bytes.Equal(j.Load, load) {
			t.Errorf("load %q, want %q", j.Load, load)
		}
		if minions, _ := minionList(j.Minions); v.files[".minions.p"] != nil &&
			!bytes.Equal(minions, v.files[".minions.p"]) {
			t.Errorf("minions %v", j.Minions)
		}
		if _, nocache := v.files["nocache"]; j.NoCache != nocache {
			t.Errorf("nocache %v", j.NoCache)
		}
		got, err := c.Returns(t.Context(), v.id)
		must(t, err)
		var ids []string
		for _, r := range got {
			ids = append(ids, r.Minion)
			body, out := SaltFields(r.Load)
			if !bytes.Equal(body, v.files[r.Minion+"/return.p"]) ||
				!bytes.Equal(out, v.files[r.Minion+"/out.p"]) {
				t.Errorf("return of %s: %q, %q", r.Minion, body, out)
			}
			if fresh, err := c.SaveReturn(t.Context(), v.id, &r); fresh || err != nil {
				t.Errorf("the same return again: %v, %v", fresh, err)
			}
		}
		if slices.Sort(ids); !slices.Equal(ids, v.returns()) {
			t.Errorf("returns of %v, want %v", ids, v.returns())
		}
		jobs, err := c.Jobs(t.Context(), returners.Filter{})
		if err != nil || len(jobs) != 1 || jobs[0].ID != v.id {
			t.Errorf("Jobs = %v, %v", jobs, err)
		}
	})
}

func TestVectorTreesOfOursAreSalts(t *testing.T) {
	trees(t, func(t *testing.T, v tree) {
		salt, ours := t.TempDir(), t.TempDir()
		v.lay(t, salt)
		from, to := opened(t, salt, Options{}), opened(t, ours, Options{})
		j, err := from.Job(t.Context(), v.id)
		must(t, err)
		must(t, to.SaveJob(t.Context(), j))
		list, err := from.Returns(t.Context(), v.id)
		must(t, err)
		for _, r := range list {
			_, err := to.SaveReturn(t.Context(), v.id, &r)
			must(t, err)
		}
		want := map[string][]byte{}
		for name, body := range v.files {
			want[filepath.FromSlash(name)] = body
		}
		if want[".load.p"] == nil { // Salt has no load of a job submitted by another master
			want[".load.p"], want[".minions.p"] = []byte{0x80}, []byte{0x90}
		}
		if want[".minions.p"] == nil {
			want[".minions.p"] = []byte{0x90}
		}
		same := readTree(t, filepath.Join(ours, filepath.FromSlash(v.dir)))
		for name, body := range same {
			if filepath.Base(name) == fileRecord {
				continue
			}
			if w, ok := want[name]; !ok || !bytes.Equal(w, body) {
				t.Errorf("file %s: %q, want %q", name, body, w)
			}
			delete(want, name)
		}
		for name := range want {
			t.Errorf("there is no file %s", name)
		}
	})
}

func readTree(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		files[rel], err = os.ReadFile(name)
		return err
	})
	must(t, err)
	return files
}

func TestOlderFormOfReturns(t *testing.T) {
	dir := t.TempDir()
	id := job.ID("20260301120000000000")
	folder, err := id.Dir("")
	must(t, err)
	write(t, filepath.Join(dir, folder, "jid"), []byte(id))
	write(t, filepath.Join(dir, folder, ".load.p"), []byte("\x81\xa3fun\xa9test.ping"))
	write(t, filepath.Join(dir, folder, ".minions.syndic1.p"), []byte("\x91\xa4web2"))
	write(t, filepath.Join(dir, folder, "web1", "return.p"), []byte{0xc3})
	c := opened(t, dir, Options{})
	got, err := c.Returns(t.Context(), id)
	must(t, err)
	if len(got) != 1 {
		t.Fatalf("Returns = %v", got)
	}
	v, err := payload.UnmarshalText(got[0].Load, payload.WireLimits())
	if m, ok := v.(*data.Map); err != nil || !ok || m.Value("return") != true || m.Text("id") != "web1" {
		t.Errorf("the return is %v, %v", v, err)
	}
	j, err := c.Job(t.Context(), id)
	if err != nil || !slices.Equal(j.Minions, []string{"web2"}) {
		t.Errorf("Job = %v, %v", j, err)
	}
	if at, _ := id.Time(); !j.Started.Equal(at) {
		t.Errorf("it began %v", j.Started)
	}
	if time.Since(got[0].Received) > time.Hour {
		t.Errorf("received %v", got[0].Received)
	}
}
