// Package varstack is Salt's external pillar of that name (salt/pillar/varstack_pillar.py).
//
//	ext_pillar:
//	  - varstack: /etc/varstack.yaml
//
// varstack is a library of Python's; package internal/pylibrary runs it by the system's python3. It
// gets the grains that the minion sent. The minion does not see the library's errors.
package varstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pylibrary"
	"github.com/brineproject/brine/pillar"
)

// patience is the timeout of a call, and places limits concurrent calls.
const (
	patience = time.Minute
	places   = 4
)

// A Source is the external pillar varstack.
type Source struct{ places chan struct{} }

// New returns the source.
func New() *Source { return &Source{make(chan struct{}, places)} }

var (
	_ pillar.Checker         = (*Source)(nil)
	_ pillar.OnDemandChecker = (*Source)(nil)
)

// Name implements pillar.Source.
func (*Source) Name() string { return "varstack" }

// CheckOnDemand implements pillar.OnDemandChecker: minions must not choose a file of the master.
func (*Source) CheckOnDemand(any, *data.Map) error {
	return errors.New("a minion may not choose a file that the master reads")
}

func file(argument any) (string, error) {
	args, err := pillar.Bind(argument, 1, "conf")
	if err != nil {
		return "", err
	}
	path, ok := args.Value("conf").(string)
	if !ok || !filepath.IsAbs(path) {
		return "", errors.New("conf: expected the path of a file")
	}
	return path, nil
}

// Check implements pillar.Checker.
func (*Source) Check(argument any, _ *data.Map) error {
	path, err := file(argument)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return fmt.Errorf("conf: %w", err)
	}
	return nil
}

// Pillar implements pillar.Source.
func (s *Source) Pillar(ctx context.Context, q pillar.Query) (*data.Map, error) {
	path, err := file(q.Argument)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	case <-ctx.Done():
		return nil, errors.New("too many calls of varstack are under way")
	}
	v, err := pylibrary.Varstack(path, q.Grains).Do(ctx)
	if err != nil {
		q.Log.Errorf("ext_pillar varstack for %s: %s", q.ID, err)
		return nil, errors.New("varstack cannot be used; please see the master's log")
	}
	m, ok := v.(*data.Map)
	if !ok && data.Truth(v) {
		return nil, errors.New("varstack returned no dictionary")
	}
	return m, nil
}
