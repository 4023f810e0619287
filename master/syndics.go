package master

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/job"
	lower "github.com/brineproject/brine/master/syndics"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/returners"
)

// syndics decides which minions' keys act as syndics, and for whom each of them speaks. It is nil
// unless order_masters is set.
//
// A syndic speaks for the minions that it has named as those of its lower master. It never speaks
// for a minion whose key this master has accepted itself, except for one with its own id: the host of
// the lower master (CVE-2024-22231; salt/master.py, AESFuncs._syndic_return, accepts any).
type syndics struct {
	base
	*lower.Registry
	keys     *pki.Dir
	presence *presence
	links    *syndicLinks
	jobs     returners.JobCache
}

// openSyndics opens the registry of syndics, or returns nil if no syndic may connect.
func openSyndics(p *parts) (*syndics, error) {
	if !p.cfg.OrderMasters {
		return nil, nil
	}
	s := &syndics{base: p.base, keys: p.keys, presence: p.presence, links: newSyndicLinks(), jobs: p.jobs}
	p.presence.links = s.links
	dir := cmp.Or(p.cfg.Map().Text("syndic_dir"), filepath.Join(p.cfg.CacheDir, "syndics"))
	var err error
	s.Registry, err = lower.Open(dir, func() bool { return len(s.named()) > 0 })
	if s.Registry == nil {
		return nil, err
	}
	if err != nil {
		p.log.WithError(err).Warn("some minions behind syndics are not known until the syndics name them again")
	}
	return s, s.Prune(s.mayStay)
}

// keep forgets syndics without an accepted key, and writes the files of those that have changed.
func (s *syndics) keep(context.Context) error {
	away := s.away()
	for _, id := range s.All() {
		s.SetConnected(id, !slices.Contains(away, id))
	}
	return errors.Join(s.Prune(s.mayStay), s.Flush())
}

// away returns the syndics that are not connected.
func (s *syndics) away() []string {
	all := s.All()
	absent := s.presence.Absent(all)
	return slices.DeleteFunc(all, func(id string) bool {
		if is, known := s.links.connected(id); known {
			return is
		}
		return !slices.Contains(absent, id)
	})
}

// named returns the option syndics: globs of the ids that may act as syndics. Without any, every
// accepted key may.
func (s *syndics) named() []string { return s.settings.config().Syndics }

// accepted reports whether this master has accepted the key of a minion.
func (s *syndics) accepted(id string) bool {
	_, err := s.keys.AcceptedKey(id)
	return err == nil
}

// mayStay reports whether a syndic has a key, or that cannot be told now.
func (s *syndics) mayStay(id string) bool {
	_, err := s.keys.Get(pki.Accepted, id)
	return !errors.Is(err, pki.ErrNotFound)
}

// Errors of requests of minions that may not act as syndics.
var (
	errNoSyndics  = errors.New("order_masters is off on this master, so that it has no syndics")
	errNotNamed   = errors.New("the option syndics does not name it")
	errNotStarted = errors.New("it has not announced itself as a syndic (salt/syndic/ID/start)")
)

// mayAct returns an error if a minion may not act as a syndic.
func (s *syndics) mayAct(id string) error {
	if s == nil {
		return errNoSyndics
	}
	names := s.named()
	if len(names) == 0 || slices.ContainsFunc(names,
		func(glob string) bool { return match.CompileGlob(glob).Match(id) }) {
		return nil
	}
	return errNotNamed
}

// acts returns nil for a minion that has announced itself as a syndic, and may be one.
func (s *syndics) acts(id string) error {
	err := s.mayAct(id)
	if err == nil && !s.Is(id) {
		err = errNotStarted
	}
	return err
}

// speaks reports whether a syndic may send returns and events of a minion.
func (s *syndics) speaks(syndic, minion string) bool {
	return s.Speaks(syndic, minion) && (minion == syndic || !s.accepted(minion))
}

// behind reports whether a minion is behind a syndic, and not one of this master's own.
func (s *syndics) behind(minion string) bool {
	return s != nil && len(s.Above(minion)) > 0 && !s.accepted(minion)
}

// refused logs that a request of a minion is refused, since it may not act as a syndic.
func (s *syndics) refused(b base, c *channel.Command, what string, why error) {
	b.quiet.Warnf(b.log.WithError(why), "syndic "+c.Caller.ID, "%s of %s refused", what, c.Caller.ID)
}

// announce makes a syndic known when it has started, or does what only syndics do.
func (s *syndics) announce(id string) {
	if s.mayAct(id) != nil {
		return
	}
	switch fresh, err := s.Announce(id); {
	case err != nil:
		s.log.WithError(err).Errorf("record that %s is a syndic", id)
	case fresh:
		s.log.Infof("%s is a syndic", id)
	}
}

// add notes minions that a syndic has named, and returns those of them for which it speaks.
func (s *syndics) add(syndic string, ids []string) []string {
	taken, err := s.Add(syndic, ids)
	s.logTaken(syndic, taken, err)
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !s.speaks(syndic, id) })
}

// take sets the minions behind a syndic to those of its inventory.
func (s *syndics) take(syndic string, inventory lower.Inventory) {
	taken, err := s.Replace(syndic, inventory)
	s.logTaken(syndic, taken, err)
}

// logTaken logs which minions of a syndic are not counted as its own.
func (s *syndics) logTaken(syndic string, taken []string, err error) {
	if err != nil {
		s.quiet.Warnf(s.log.WithError(err), "full "+syndic, "Minions behind syndic %s are left out", syndic)
	}
	if len(taken) > 0 {
		s.quiet.Warnf(s.log, "taken "+syndic,
			"Minion %s and %d more named by syndic %s are behind another one already: "+
				"if both are right, list them in the option syndics", taken[0], len(taken)-1, syndic)
	}
}

// onlyMinions removes syndics from ids, unless there is a minion of the same name: one behind the
// syndic, or one that has sent returns itself. A syndic runs no jobs, so that nobody may wait for it.
func (s *syndics) onlyMinions(ids []string) []string {
	if s == nil || s.Empty() {
		return ids
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return s.Is(id) && s.mayAct(id) == nil && !s.Speaks(id, id) && !s.Minion(id)
	})
}

// targetNames returns a function that reports whether the target of a stored job may name an id.
func (s *syndics) targetNames(j *returners.Job) func(id string) bool {
	load, err := payload.ParseFields(j.Load, payload.WireLimits())
	if err != nil {
		return func(string) bool { return false }
	}
	kind, _ := load.Text("tgt_type")
	if names := s.exact(load.Value("tgt"), kind, ""); names != nil && !isOwn(j) {
		return names
	}
	return func(string) bool { return true }
}

// admit adds minions to the expected ones of a job, those that its target may name. It returns them.
func (s *syndics) admit(j *returners.Job, ids []string, add func(id job.ID, ids []string) error,
) ([]string, error) {
	names := s.targetNames(j)
	var in, fresh []string
	for _, id := range ids {
		switch {
		case expects(j, id):
			in = append(in, id)
		case names(id):
			in, fresh = append(in, id), append(fresh, id)
		}
	}
	if len(fresh) == 0 {
		return in, nil
	}
	if err := add(j.ID, fresh); err != nil {
		return nil, fmt.Errorf("add minions behind a syndic to job %s: %w", j.ID, err)
	}
	return in, nil
}
