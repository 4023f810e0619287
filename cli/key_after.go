package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/pki"
)

// keyEvents tells the master on this host what was done to keys. That none runs is no fault.
type keyEvents struct {
	sockets eventbus.Sockets
	log     *logrus.Logger
	client  *eventbus.Client
	off     bool // the master does not listen
}

// busPatience is how long one event may take to be taken by a master that runs.
const busPatience = time.Second

// masterSockets returns the sockets of the bus of the master on this host.
func masterSockets(opts *data.Map) eventbus.Sockets {
	if opts.Text("ipc_mode") == "tcp" {
		return eventbus.TCPSockets(int(floatOf(opts.Value("tcp_master_pub_port"))), int(floatOf(opts.Value("tcp_master_pull_port"))))
	}
	return eventbus.MasterSockets(opts.Text("sock_dir"))
}

// fire fires salt/key. The first event that is not taken is the last that is tried.
func (e *keyEvents) fire(m *data.Map) {
	if e.off {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), busPatience)
	defer cancel()
	if err := e.send(ctx, m); err != nil {
		e.log.Debugf("no master takes events: %v", err)
		e.off = true
	}
}

func (e *keyEvents) send(ctx context.Context, m *data.Map) error {
	if e.client == nil {
		var err error
		if e.client, err = eventbus.Dial(ctx, e.sockets, eventbus.ClientOptions{FireOnly: true}); err != nil {
			return err
		}
	}
	return e.client.Fire(ctx, eventbus.Tagify("key"), m)
}

func (e *keyEvents) close() {
	if e.client != nil {
		_ = e.client.Close() // all is sent
	}
}

// clearUp drops what the master keeps of minions without a key, and asks it for a new session key.
func (k *keyRun) clearUp(c keyChange, chosen []shelf) error {
	if !data.Truth(k.opts.Value("preserve_minion_cache")) {
		if err := k.dropCaches(k.preserved(c, chosen)); err != nil {
			k.log.Warnf("Key: Delete cache: %v", err)
		}
	}
	if !data.Truth(k.o.RotateAESKey) {
		return nil
	}
	err := pki.DropFile{Dir: k.opts.Text("cachedir")}.Request()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no master has run with this cachedir, so there is no session key
	}
	return err
}

// preserved returns the ids whose caches stay though their keys go: with --preserve-minions those of the accepted keys
// that are deleted.
func (k *keyRun) preserved(c keyChange, chosen []shelf) []string {
	if c.act == "delete" && k.o.PreserveMinions == true {
		for _, s := range chosen {
			if s.state == pki.Accepted {
				return s.ids
			}
		}
	}
	return nil
}

// dropCaches removes the caches of minions that have no key in any state, and the session keys of those that have none
// that is accepted. When the keys cannot be listed, nothing is removed.
func (k *keyRun) dropCaches(preserved []string) error {
	all, err := k.managed()
	if err != nil {
		return err
	}
	known, accepted := map[string]bool{}, map[string]bool{}
	for _, id := range preserved {
		known[id], accepted[id] = true, true
	}
	for _, s := range all {
		for _, id := range s.ids {
			known[id] = true
			accepted[id] = accepted[id] || s.state == pki.Accepted
		}
	}
	root, err := os.OpenRoot(k.opts.Text("cachedir"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return errors.Join(
		dropOthers(root, pki.Accepted.Dir(), func(e fs.DirEntry) bool { return known[e.Name()] || !e.IsDir() }),
		dropOthers(root, "sessions", func(e fs.DirEntry) bool {
			return accepted[e.Name()] || strings.HasPrefix(e.Name(), ".") || e.IsDir()
		}))
}

// dropOthers removes from a folder all that keep does not speak for.
func dropOthers(root *os.Root, dir string, keep func(fs.DirEntry) bool) error {
	f, err := root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	var errs []error
	for _, e := range entries {
		if !keep(e) {
			errs = append(errs, root.RemoveAll(dir+"/"+e.Name()))
		}
	}
	return errors.Join(errs...)
}
