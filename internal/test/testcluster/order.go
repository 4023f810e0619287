//go:build linux

package testcluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testcluster/history"
	"github.com/brineproject/brine/logging"
)

// A Request is a job to order.
type Request struct {
	Target  string // glob
	Fun     string
	Args    []any
	JID     string        // "" lets the master choose
	Timeout time.Duration // for a minion's return (-t); 0 means 5 s
	Minions []string      // those that the target means, for the history
}

// An Answer is what the orderer of a job was told.
type Answer struct {
	history.Order
	Values map[string]any // returns by minion
}

// Order orders a job on a master through the client that salt uses, in this process, and waits for
// its end. The error is that of ctx; everything else is in the Answer.
func (m *Master) Order(ctx context.Context, r Request) (*Answer, error) {
	a := &Answer{Order: history.Order{Member: m.Name, JID: r.JID, Begin: time.Now(), Minions: r.Minions},
		Values: map[string]any{}}
	err := m.order(ctx, r, a)
	a.End = time.Now()
	var refusal *client.NoMinionsError
	switch {
	case ctx.Err() != nil:
		return a, ctx.Err()
	case errors.As(err, &refusal), errors.Is(err, client.ErrNotAuthorized),
		errors.Is(err, client.ErrNotAuthenticated):
		a.Refused = err.Error()
	case err != nil:
		a.Lost = err.Error()
	}
	slices.Sort(a.Returned)
	slices.Sort(a.Missing)
	return a, nil
}

func (m *Master) order(ctx context.Context, r Request, a *Answer) error {
	l, done, err := m.client(ctx)
	if err != nil {
		return err
	}
	defer done()
	timeout := r.Timeout
	if timeout == 0 {
		timeout = 5 * time.Second
	}
	job, err := l.Publish(ctx, client.Request{Target: r.Target, Kind: "glob", Fun: r.Fun, Arg: r.Args,
		JID: r.JID, Timeout: timeout})
	if err != nil {
		return err
	}
	a.JID, a.Published = string(job.ID), true
	wait := client.Wait{Timeout: timeout, Gather: timeout, ShowSilent: true}
	for result, err := range l.Results(ctx, job, wait) {
		switch {
		case err != nil:
			return err
		case result.Missing:
			a.Missing = append(a.Missing, result.ID)
		default:
			a.Returned = append(a.Returned, result.ID)
			a.Values[result.ID] = result.Value
		}
	}
	return nil
}

// client returns a connection of salt's client, and a function that closes it.
func (m *Master) client(ctx context.Context) (*client.Local, func(), error) {
	who, err := user.Current()
	if err != nil {
		return nil, nil, err
	}
	out := m.requester()
	l, err := client.Open(ctx, client.Options{CacheDir: m.cfg.CacheDir, SockDir: m.cfg.SockDir,
		User: m.cfg.User, Caller: who.Username, Out: out, Log: logging.Discard()})
	if err != nil {
		out.Close()
		return nil, nil, err
	}
	return l, func() {
		l.Close()
		out.Close()
	}, nil
}

// lookups is how many jobs are looked up at once.
const lookups = 8

// Returned returns the minions whose returns to jobs are in the master's job cache, by job, sorted.
func (m *Master) Returned(ctx context.Context, jids ...string) (map[string][]string, error) {
	all := map[string][]string{}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	for i := range min(lookups, len(jids)) {
		group.Go(func() error {
			l, done, err := m.client(ctx)
			if err != nil {
				return fmt.Errorf("read the job cache of %s: %w", m.Name, err)
			}
			defer done()
			for k := i; k < len(jids); k += lookups {
				ids, err := returned(ctx, l, jids[k])
				if err != nil {
					return fmt.Errorf("look up job %s on %s: %w", jids[k], m.Name, err)
				}
				mu.Lock()
				all[jids[k]] = ids
				mu.Unlock()
			}
			return nil
		})
	}
	return all, group.Wait()
}

func returned(ctx context.Context, l *client.Local, jid string) (ids []string, err error) {
	job, err := l.Control(ctx, "runner", "jobs.lookup_jid", []any{jid}, nil)
	if err != nil {
		return nil, err
	}
	returns, ok := job.Value("return").(*data.Map)
	if !ok || job.Value("success") != true {
		return nil, errors.New(data.Repr(job))
	}
	if inner, ok := returns.Value("data").(*data.Map); ok && returns.Has("outputter") {
		returns = inner
	}
	for id := range returns.All() {
		ids = append(ids, data.Str(id))
	}
	slices.Sort(ids)
	return ids, nil
}

// Keys returns the states of the keys of all minions as the master sees them: accepted, pending,
// rejected or denied.
func (m *Master) Keys(ctx context.Context) (map[string]string, error) {
	l, done, err := m.client(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the keys of %s: %w", m.Name, err)
	}
	defer done()
	job, err := l.Control(ctx, "wheel", "key.list_all", nil, nil)
	if err != nil {
		return nil, fmt.Errorf("list the keys of %s: %w", m.Name, err)
	}
	lists, ok := job.Value("return").(*data.Map)
	if !ok {
		return nil, fmt.Errorf("list the keys of %s: %s", m.Name, data.Repr(job))
	}
	states := map[string]string{}
	for list, state := range map[string]string{"minions": "accepted", "minions_pre": "pending",
		"minions_rejected": "rejected", "minions_denied": "denied"} {
		for _, id := range data.TextsOf(lists.Value(list)) {
			states[id] = state
		}
	}
	return states, nil
}

// Run runs salt or salt-run for a master, with its configuration, and returns what the program wrote
// to standard output and its exit code. The error says that it did not run, or that ctx ended.
func (m *Master) Run(ctx context.Context, program string, args ...string) (out []byte, code int, err error) {
	out, _, code, err = m.Speak(ctx, program, args...)
	return out, code, err
}

// Speak is like Run, and also returns what the program wrote to standard error.
func (m *Master) Speak(
	ctx context.Context, program string, args ...string,
) (out, said []byte, code int, err error) {
	cmd := exec.CommandContext(ctx, filepath.Join(m.bin, program), append([]string{"-c", m.Dir}, args...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err = cmd.Output()
	var exit *exec.ExitError
	if ctx.Err() == nil && (err == nil || errors.As(err, &exit)) {
		return out, errs.Bytes(), cmd.ProcessState.ExitCode(), nil
	}
	return nil, nil, 0, fmt.Errorf("run %s for master %s: %w: %s", program, m.Name, errors.Join(ctx.Err(), err),
		errs.Bytes())
}

// Lookup returns the returns to a job that are in the master's job cache, by minion, as salt-run shows
// them.
func (m *Master) Lookup(ctx context.Context, jid string) (map[string]any, error) {
	out, code, err := m.Run(ctx, "salt-run", "--out=json", "jobs.lookup_jid", jid)
	if err != nil {
		return nil, err
	}
	returns := map[string]any{}
	if err := json.Unmarshal(out, &returns); err != nil || code != 0 {
		return nil, fmt.Errorf("look up job %s on %s: exit code %d, %q: %w", jid, m.Name, code, out, err)
	}
	return returns, nil
}
