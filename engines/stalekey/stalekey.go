// Package stalekey is Salt's engine stalekey: it deletes the keys of minions that have not been
// connected for a time (salt/engines/stalekey.py).
//
//	engines:
//	  - stalekey: {interval: 3600, expire: 604800}
//
// The file presence.p in the cachedir says when each minion was last connected. A minion without an
// entry counts as connected now. Each deletion is a job of the wheel function key.delete.
//
// Differences from Salt: the first check is one interval after the start. Only the time for which the
// engine runs counts as absence: an outage of the master deletes no keys. ids whose keys are gone
// leave the file, and so does an entry that is no time. A key whose deletion fails keeps its entry.
package stalekey

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/payload"
)

type stalekey struct {
	host             engines.Host
	interval, expire time.Duration
	now              func() time.Time

	started float64 // seconds since 1970
	checked float64 // when the file was last written; 0 is not yet
}

// New makes the engine. The option interval is the seconds between two checks (3600), expire those
// after which a minion counts as gone (604800). It needs the option minion_data_cache.
func New(h engines.Host, options *data.Map) (func(context.Context) error, error) {
	if err := engines.Only(options, "interval", "expire"); err != nil {
		return nil, err
	}
	if v, ok := h.Opts.Get("minion_data_cache"); ok && !data.Truth(v) {
		return nil, errors.New("the engine needs the option minion_data_cache")
	}
	s := &stalekey{host: h, now: time.Now}
	var err, other error
	s.interval, err = seconds(options, "interval", 3600)
	s.expire, other = seconds(options, "expire", 604800)
	return s.run, errors.Join(err, other)
}

// seconds returns an option that is a positive number of seconds.
func seconds(options *data.Map, name string, otherwise float64) (time.Duration, error) {
	n := otherwise
	switch v := options.Value(name).(type) {
	case nil:
	case int64:
		n = float64(v)
	case float64:
		n = v
	default:
		n = 0
	}
	if !(n > 0 && n <= 1e9) {
		return 0, fmt.Errorf("%s: expected seconds, not %s", name, data.Repr(options.Value(name)))
	}
	return time.Duration(n * float64(time.Second)), nil
}

// run checks after each interval. The first one is for the minions to connect to a master that has
// just started.
func (s *stalekey) run(ctx context.Context) error {
	s.begin()
	for {
		if err := clock.Sleep(ctx, s.interval); err != nil {
			return err
		}
		if err := s.check(ctx); err != nil {
			s.host.Log.WithError(err).Errorf("engine %s", s.host.Name)
		}
	}
}

func (s *stalekey) begin() { s.started, s.checked = s.seconds(), 0 }

func (s *stalekey) seconds() float64 { return float64(s.now().UnixMilli()) / 1000 }

// unwatched returns for how many seconds since the last check nobody could have seen the minions:
// before the start, and while the host stood still or its clock was set. The last check before the
// start was not before the newest entry.
func (s *stalekey) unwatched(seen *data.Map, now float64) (away float64) {
	since := s.checked
	if since == 0 {
		since = s.started
		newest := 0.0
		for _, v := range seen.All() {
			if last, ok := v.(float64); ok && last <= s.started { // others are of a clock that was wrong
				newest = max(newest, last)
			}
		}
		away = max(0, s.started-newest)
	}
	if gap := now - since; gap > 2*s.interval.Seconds() {
		away += gap - s.interval.Seconds()
	}
	return away
}

func (s *stalekey) file() string { return filepath.Join(s.host.Opts.Text("cachedir"), "presence.p") }

// check records who is connected, and deletes the keys of those who are gone.
func (s *stalekey) check(ctx context.Context) error {
	seen, err := s.read()
	if err != nil {
		return err
	}
	ids, err := s.host.Minions.Accepted()
	if err != nil {
		return fmt.Errorf("list the accepted keys: %w", err)
	}
	present := map[string]bool{}
	for _, id := range s.host.Minions.Connected() {
		present[id] = true
	}
	now := s.seconds()
	away := s.unwatched(seen, now)
	next := data.NewMap()
	var errs []error
	slices.Sort(ids)
	for _, id := range ids {
		last, ok := seen.Value(id).(float64)
		if last = min(last+away, now); !ok || present[id] {
			last = now
		}
		if now-s.expire.Seconds() > last {
			s.host.Log.Infof("engine %s: delete the key of %s, which has been away for too long", s.host.Name, id)
			if err := s.host.Minions.DeleteKey(ctx, id); err == nil {
				continue
			} else {
				errs = append(errs, fmt.Errorf("delete the key of %s: %w", id, err))
			}
		}
		next.Set(id, last)
	}
	if err := s.write(next); err != nil {
		return errors.Join(append(errs, err)...)
	}
	s.checked = now
	return errors.Join(errs...)
}

// read returns the seconds since 1970 at which each minion was last connected.
func (s *stalekey) read() (*data.Map, error) {
	src, err := os.ReadFile(s.file())
	if errors.Is(err, fs.ErrNotExist) {
		return data.NewMap(), nil
	}
	if err != nil {
		return nil, err
	}
	v, err := payload.UnmarshalText(src, payload.WireLimits())
	seen, ok := v.(*data.Map)
	if err == nil && !ok {
		err = errors.New("it is no dictionary")
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.file(), err)
	}
	for key, v := range seen.All() {
		if n, whole := v.(int64); whole {
			seen.Set(key, float64(n))
		}
	}
	return seen, nil
}

func (s *stalekey) write(seen *data.Map) error {
	text, err := payload.MarshalBin(seen)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(s.file(), text, atomicfile.Options{Mode: 0o600}); err != nil {
		return fmt.Errorf("write %s: %w", s.file(), err)
	}
	return nil
}
