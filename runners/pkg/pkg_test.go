package pkg_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/jobstore"
	"github.com/brineproject/brine/runners"
	"github.com/brineproject/brine/runners/pkg"
)

// TestListUpgrades groups the returns of two minions for a job: pkg.list_upgrades.
func TestListUpgrades(t *testing.T) {
	s, err := jobstore.Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"), jobstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const jid = "20230102030405060708"
	packed := func(v any) []byte {
		raw, err := payload.MarshalBin(v)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	load := packed(data.NewMap("fun", "pkg.list_upgrades", "jid", jid))
	if err := s.SaveJob(t.Context(),
		&returners.Job{ID: jid, Load: load, Minions: []string{"a", "b"}, Started: time.Now()}); err != nil {
		t.Fatal(err)
	}
	for id, v := range map[string]*data.Map{"a": data.NewMap("vim", "9.1"),
		"b": data.NewMap("vim", "9.1", "nano", "8")} {
		ret := packed(data.NewMap("id", id, "jid", jid, "return", v))
		if _, err := s.SaveReturn(t.Context(), job.ID(jid),
			&returners.Return{Minion: id, Load: ret, Received: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	functions, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("master_job_cache",
		"local_cache")}, []loader.Plugin{pkg.Plugin(pkg.Needs{Jobs: s})})
	if err != nil {
		t.Fatal(err)
	}
	c := runners.New(runners.Options{Kind: runners.Runner, Functions: functions, Log: functions.Env().Log})
	for range 2 {
		printed := ""
		done := c.Run(t.Context(), runners.Call{Fun: "pkg.list_upgrades", Args: []any{jid},
			JID: "20230102030405060709", Print: func(text string) { printed += text }})
		hosts := func(v any) []any {
			list, _ := data.Lookup(done.Value("return"), v.(string), "/")
			out, _ := list.([]any)
			return out
		}
		if len(hosts("vim/9.1/hosts")) != 2 || !data.Equal(hosts("nano/8/hosts"), []any{"b"}) {
			t.Errorf("got %s", data.Repr(done))
		}
		if want := "nano:\n    ----------\n    8:\n        ----------\n        hosts:\n            - b\nvim:\n"; len(printed) < len(want) || printed[:len(want)] != want {
			t.Errorf("prints %q, want %q first", printed, want)
		}
	}
	for _, words := range []*data.Map{data.NewMap("jid", "20200101000000000000", "outputter", nil),
		data.NewMap("jid", jid, "style", "x", "outputter", nil)} {
		if v, err := functions.Invoke(t.Context(), "pkg.list_upgrades", nil, words); err != nil ||
			!data.Equal(v, &data.Map{}) {
			t.Errorf("%s: %s, %v", data.Repr(words), data.Repr(v), err)
		}
	}
}
