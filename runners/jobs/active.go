package jobs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/runners"
)

type activeArgs struct {
	DisplayProgress bool `default:"False"`
}

// active asks all minions for their running jobs, and returns the jobs with the minions that run
// them and those that have returned.
//
// CLI Example:
//
//	salt-run jobs.active
func (m *module) active(ctx context.Context, a activeArgs) (any, error) {
	ret := &data.Map{}
	answers := &data.Map{}
	if m.env.Host.Order == nil {
		return nil, &runners.UnableError{Text: "jobs.active: no master is available here to query minions"}
	}
	order := data.NewMap("tgt", "*", "tgt_type", "glob", "fun", "saltutil.running", "arg", []any{},
		"timeout", m.env.Option("timeout"))
	if err := m.env.Host.Order(ctx, order, func(id string, ret *data.Map) bool {
		answers.Set(id, ret.Value("ret"))
		return true
	}); err != nil {
		runners.RunOf(ctx).Printf("%v\n", err)
		return ret, nil
	}
	progress(ctx, a.DisplayProgress, "Attempting to contact minions: %s", data.Repr(answers.Keys()))
	for id, v := range answers.All() {
		progress(ctx, a.DisplayProgress, "Received reply from minion %s", id)
		list, _ := v.([]any)
		for _, e := range list {
			addRunning(ret, id, e)
		}
	}
	return ret, m.addReturned(ctx, ret)
}

// addRunning adds an entry of one minion's saltutil.running.
func addRunning(ret *data.Map, minion, note any) {
	load, ok := note.(*data.Map)
	jid := data.Str(load.Value("jid"))
	if !ok || jid == "" {
		return
	}
	one, ok := ret.Value(jid).(*data.Map)
	if !ok {
		one = instance(jid, load)
		one.Set("Running", []any{})
		one.Set("Returned", []any{})
		ret.Set(jid, one)
	}
	running, _ := one.Value("Running").([]any)
	one.Set("Running", append(running, data.NewMap(minion, load.Value("pid"))))
}

// addReturned adds to each job the minions that have returned.
func (m *module) addReturned(ctx context.Context, ret *data.Map) error {
	cache, err := m.cache(ctx, nil)
	if err != nil {
		return err
	}
	for jid, v := range ret.All() {
		returned, err := returnedOf(ctx, cache, jid.(string))
		if err != nil {
			return err
		}
		v.(*data.Map).Set("Returned", returned)
	}
	return nil
}

// returnedOf returns the minions that have returned a job.
func returnedOf(ctx context.Context, cache returners.JobReader, jid string) ([]any, error) {
	returned := []any{}
	id, err := job.ParseID(jid)
	if err != nil {
		return returned, nil // no such job exists
	}
	list, err := returners.ProgressOf(ctx, cache, id)
	if err != nil && !errors.Is(err, returners.ErrUnknownJob) {
		return nil, err
	}
	for _, p := range list {
		if p.State == returners.Returned {
			returned = append(returned, p.Minion)
		}
	}
	return returned, nil
}

// master returns the jobs that run on the master itself, from the files in the directory proc of
// its cachedir.
//
// CLI Example:
//
//	salt-run jobs.master
func (m *module) master(context.Context, loader.NoArgs) (any, error) {
	ret := []any{}
	dir := filepath.Join(m.env.Opts.Text("cachedir"), "proc")
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return ret, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return len(a.Name()) - len(b.Name()) })
	for _, e := range entries {
		if note, ok := running(root, e.Name()); ok {
			ret = append(ret, note)
		}
	}
	return ret, nil
}

// maxNote is the limit of a job's file, in bytes.
const maxNote = 1 << 20

// running returns the content of a job's file if its process is alive.
func running(root *os.Root, name string) (*data.Map, bool) {
	if info, err := root.Stat(name); err != nil || !info.Mode().IsRegular() ||
		info.Size() > maxNote {
		return nil, false
	}
	raw, err := root.ReadFile(name)
	if err != nil {
		return nil, false
	}
	v, err := payload.UnmarshalText(raw, payload.WireLimits())
	note, ok := v.(*data.Map)
	if err != nil || !ok {
		return nil, false
	}
	pid, err := loader.Int(note.Value("pid"))
	if err != nil {
		return nil, false
	}
	_, err = process.MarkOf(int(pid))
	return note, err == nil
}
