package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/brineproject/brine/cache/localfs"
	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
)

// preview prints the minions that match the target.
func (s *saltRun) preview() int {
	ids, err := s.targeted()
	if err != nil {
		return s.fail(err)
	}
	if len(ids) == 0 {
		return s.nothing([]any{})
	}
	if s.out.Print(ids, "", 0) != nil {
		return exitGeneric
	}
	return exitOK
}

// targeted returns the minions that match the target, by the master's keys and the minions' cached
// grains and pillar. It reads the master's files, whether or not the master runs
// (salt/client/__init__.py, gather_minions).
func (s *saltRun) targeted() ([]any, error) {
	keys := pki.Visit(s.opts.Text("pki_dir"), pki.Options{})
	accepted, err := keys.List(pki.Accepted)
	if err != nil {
		return nil, fmt.Errorf("list accepted keys: %w", err)
	}
	minions := openMinionCache(s.opts)
	defer minions.close()
	fleet := match.Fleet{Accepted: accepted, Cache: minions,
		DataCache: data.Truth(s.opts.Value("minion_data_cache")), Greedy: true,
		Nodegroups: s.cfg.Nodegroups}
	ids, _, err := fleet.Resolve(s.o.Target, s.o.TargetKind, s.o.Delimiter)
	if err != nil {
		return nil, &invocationError{err.Error()}
	}
	slices.Sort(ids)
	list := make([]any, len(ids))
	for i, id := range ids {
		list[i] = id
	}
	return list, nil
}

// limit turns the run into a batch if the number of targeted minions reaches --batch-safe-limit.
func (s *saltRun) limit() error {
	if s.o.BatchSafeLimit <= 1 || s.o.Static || s.o.Batch != "" {
		return nil
	}
	ids, err := s.targeted()
	if err != nil || int64(len(ids)) < s.o.BatchSafeLimit {
		return err
	}
	s.out.Printf("\nNOTICE: Too many minions targeted, switching to batch execution.\n")
	s.o.Batch = s.o.BatchSafeSize
	return nil
}

// subset draws --subset minions at random from those that have the functions to call
// (salt/client/__init__.py, cmd_subset).
func (s *saltRun) subset(ctx context.Context, r client.Request) ([]any, error) {
	r.Fun, r.Arg, r.Ret = "sys.list_functions", nil, ""
	all, err := s.gather(ctx, r)
	var noMinions *client.NoMinionsError
	if errors.As(err, &noMinions) {
		return []any{}, nil
	}
	if err != nil {
		return nil, err
	}
	able := []any{}
	for id, v := range all.All() {
		if functions, ok := v.([]any); ok && s.hasAll(functions) {
			able = append(able, id)
		}
	}
	rand.Shuffle(len(able), func(i, j int) { able[i], able[j] = able[j], able[i] })
	return able[:min(len(able), int(s.o.Subset))], nil
}

func (s *saltRun) hasAll(functions []any) bool {
	for _, c := range s.o.Calls {
		if !slices.Contains(functions, any(c.Fun)) {
			return false
		}
	}
	return true
}

// A minionCache is the master's cache of minions' grains and pillar. The zero value is empty.
type minionCache struct{ bank *localfs.Cache }

var _ match.Cache = (*minionCache)(nil)

// openMinionCache opens the cache below a master's cachedir. An unreadable cache, or one that is in a
// database (option cache), counts as empty.
func openMinionCache(opts *data.Map) *minionCache {
	if name := opts.Text("cache"); name != "" && !strings.HasPrefix(name, "localfs") {
		return &minionCache{}
	}
	bank, err := localfs.Open(opts.Text("cachedir"))
	if err != nil {
		return &minionCache{}
	}
	return &minionCache{bank}
}

func (c *minionCache) close() {
	if c.bank != nil {
		_ = c.bank.Close() // it was only read
	}
}

// Minion returns the last known grains and pillar of a minion.
func (c *minionCache) Minion(id string) (grains, pillar *data.Map, ok bool) {
	if c.bank == nil {
		return nil, nil, false
	}
	raw, err := c.bank.Fetch("minions/"+id, "data")
	if err != nil {
		return nil, nil, false
	}
	v, err := payload.UnmarshalText(raw, payload.WireLimits())
	m, isMap := v.(*data.Map)
	if err != nil || !isMap {
		return nil, nil, false
	}
	grains, _ = m.Value("grains").(*data.Map)
	pillar, _ = m.Value("pillar").(*data.Map)
	return grains, pillar, true
}

// IDs returns the minions in the cache.
func (c *minionCache) IDs() []string {
	if c.bank == nil {
		return nil
	}
	ids, err := c.bank.List("minions")
	if err != nil {
		return nil
	}
	return ids
}
