//go:build linux

package pairings

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/brineproject/brine/internal/test/freeport"
)

// ids are those of the minions of each tree: one of Brine and one of Salt.
var ids = []string{"mb", "ms"}

// makers of minions by id.
var makers = map[string]maker{"mb": brine, "ms": salt}

// A tree is a master, a lower master with its syndic, and two minions of the lower master.
type tree struct {
	top, lower    *host
	scratch       string // directory into which states write
	topMaster     *daemon
	lowerMaster   *daemon
	syndic        *daemon
	minionDaemons map[string]*daemon
}

// newTree writes the configurations of a tree. Its masters have loopback addresses of their own, and one
// pair of ports, for Salt's syndic looks for its own master at the publish port of the upper one.
func newTree(t *testing.T, b *bench, number int, top, lower, syndic maker) *tree {
	t.Helper()
	group := fmt.Sprintf("t%d", number)
	ports := freeport.New(t, 2)
	above, below := fmt.Sprintf("127.0.%d.1", 10+number), fmt.Sprintf("127.0.%d.2", 10+number)
	scratch := filepath.Join(b.dir, group, "scratch")
	r := &tree{scratch: scratch, minionDaemons: map[string]*daemon{}}
	r.top = b.newHost(t, group, "top", top,
		map[string]string{"master": masterConf(above, ports) + "order_masters: True\n"})
	conf := fmt.Sprintf("syndic_master: %s\nsyndic_master_port: %d\nfile_roots: {base: [%s]}\n", above, ports[0],
		filepath.Join(b.dir, group, "low", "srv"))
	r.lower = b.newHost(t, group, "low", lower, map[string]string{
		"master": masterConf(below, ports) + conf, "minion": minionConf("low", above, ports)})
	r.lower.write(t, "srv/place.sls", fmt.Sprintf("%s/{{ grains['id'] }}/word:\n  file.managed:\n"+
		"    - contents: hello\n    - makedirs: True\n", scratch))
	r.topMaster = r.top.daemon(t, top, "salt-master")
	r.lowerMaster = r.lower.daemon(t, lower, "salt-master")
	r.syndic = r.lower.daemon(t, syndic, "salt-syndic")
	for _, id := range ids {
		h := b.newHost(t, group, id, makers[id], map[string]string{"minion": minionConf(id, below, ports)})
		r.minionDaemons[id] = h.daemon(t, makers[id], "salt-minion")
	}
	return r
}

// steps returns what is done with a tree, in order.
func (r *tree) steps() []step {
	return []step{
		{"start", r.start},
		{"ping", func(ctx context.Context) error { return r.top.ping(ctx, ids...) }},
		{"cmd.run", func(ctx context.Context) error {
			return r.top.want(ctx, ids, "42", "cmd.run", "echo $((6*7))")
		}},
		{"grains.item", r.grains},
		{"state.apply", func(ctx context.Context) error { return r.apply(ctx, true) }},
		{"state.apply again", func(ctx context.Context) error {
			return until(ctx, func() error { return r.apply(ctx, false) })
		}},
		{"events", r.events},
		{"key deleted", r.deleteKey},
		{"key accepted", r.acceptKey},
		{"lower master restarted", func(ctx context.Context) error { return r.restart(ctx, r.lowerMaster) }},
		{"top master restarted", func(ctx context.Context) error { return r.restart(ctx, r.topMaster) }},
		{"syndic restarted", func(ctx context.Context) error { return r.restart(ctx, r.syndic) }},
	}
}

// start starts all daemons and accepts their keys.
func (r *tree) start(ctx context.Context) error {
	daemons := []*daemon{r.topMaster, r.lowerMaster, r.syndic}
	for _, id := range ids {
		daemons = append(daemons, r.minionDaemons[id])
	}
	for _, d := range daemons {
		if err := d.start(); err != nil {
			return err
		}
	}
	return errors.Join(r.top.accept(ctx, "low"), r.lower.accept(ctx, ids...))
}

func (r *tree) grains(ctx context.Context) error {
	return until(ctx, func() error {
		got, err := r.top.order("grains.item", "id", "master")
		if err != nil {
			return err
		}
		for _, id := range ids {
			found, _ := got[id].(map[string]any)
			if found["id"] != id || found["master"] == nil {
				return fmt.Errorf("%s has the grains %v", id, got[id])
			}
		}
		return nil
	})
}

// apply applies the states of the tree, which must change each minion, or change nothing.
func (r *tree) apply(_ context.Context, changes bool) error {
	got, err := r.top.order("state.apply", "place")
	if err != nil {
		return err
	}
	for _, id := range ids {
		results, _ := got[id].(map[string]any)
		if len(results) != 1 {
			return fmt.Errorf("%s answered %s", id, brief(fmt.Sprint(got[id])))
		}
		for _, one := range results {
			result, _ := one.(map[string]any)
			changed, _ := result["changes"].(map[string]any)
			if result["result"] != true || len(changed) > 0 != changes {
				return fmt.Errorf("%s has the result %v", id, result)
			}
		}
		if err := exists(filepath.Join(r.scratch, id, "word")); err != nil {
			return err
		}
	}
	return nil
}

// events lets both minions fire two events, and waits for them in the output of the runner state.event of
// the top master.
func (r *tree) events(ctx context.Context) error {
	cmd := r.top.bench.command(r.top.by, "salt-run", "-c", r.top.dir, "state.event", "pair/*")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	seen := &sightings{}
	read := make(chan struct{})
	go func() {
		defer close(read)
		seen.read(out)
	}()
	defer func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-read
		_ = cmd.Wait() // it was killed
	}()
	fire := func(tag string) error {
		_, err := r.top.order("event.send", tag, `{"word": "hello"}`)
		return err
	}
	err = until(ctx, func() error { // until the runner listens
		if err := fire("pair/zero"); err != nil {
			return err
		}
		return seen.have("pair/zero")
	})
	if err != nil {
		return err
	}
	if err := errors.Join(fire("pair/one"), fire("pair/two")); err != nil {
		return err
	}
	return until(ctx, func() error { return seen.have("pair/one", "pair/two") })
}

// sightings are the events that a runner has printed. Several goroutines may use it.
type sightings struct {
	mu   sync.Mutex
	seen []string // tag and id of a minion
}

func (s *sightings) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		tag, text, _ := strings.Cut(lines.Text(), "\t")
		var event struct {
			ID   string         `json:"id"`
			Data map[string]any `json:"data"`
		}
		if json.Unmarshal([]byte(text), &event) == nil && event.Data["word"] == "hello" {
			s.mu.Lock()
			s.seen = append(s.seen, tag+" of "+event.ID)
			s.mu.Unlock()
		}
	}
}

// have returns an error unless there is an event of each minion with each tag.
func (s *sightings) have(tags ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, tag := range tags {
		for _, id := range ids {
			if !slices.Contains(s.seen, tag+" of "+id) {
				return fmt.Errorf("state.event has not printed %s of %s, but %v", tag, id, s.seen)
			}
		}
	}
	return nil
}

// deleteKey deletes the key of Brine's minion at the lower master, and pings until only Salt's answers.
func (r *tree) deleteKey(ctx context.Context) error {
	_, err := r.lower.bench.output(r.lower.by, "salt-key", "-c", r.lower.dir, "-d", ids[0], "-y")
	if err != nil {
		return err
	}
	return until(ctx, func() error {
		got, err := r.top.order("test.ping")
		if err != nil {
			return err
		}
		if got[ids[0]] == true || got[ids[1]] != true {
			return fmt.Errorf("with the key of %s deleted: %v", ids[0], got)
		}
		return nil
	})
}

func (r *tree) acceptKey(ctx context.Context) error {
	if err := r.lower.accept(ctx, ids[0]); err != nil {
		return err
	}
	return r.top.ping(ctx, ids...)
}

// restart restarts a daemon, and pings until all minions answer.
func (r *tree) restart(ctx context.Context, d *daemon) error {
	if err := d.restart(); err != nil {
		return err
	}
	return r.top.ping(ctx, ids...)
}
