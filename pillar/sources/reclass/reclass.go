// Package reclass is Salt's external pillar of that name: the parameters of a node of reclass
// (salt/pillar/reclass_adapter.py).
//
//	ext_pillar:
//	  - reclass:
//	      storage_type: yaml_fs
//	      inventory_base_uri: /srv/salt        # else the first directory of file_roots for base
//	      reclass_source_path: ~/code/reclass  # else where python3 has its libraries
//
// reclass is a library of Python's; package internal/pylibrary runs it by the system's python3. Other
// arguments are those of the library's function ext_pillar. The minion sees Salt's text for errors of
// reclass that name nodes, classes and references; others are in the log only.
package reclass

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// A Source is the external pillar reclass.
type Source struct{ places chan struct{} }

// New returns the source.
func New() *Source { return &Source{make(chan struct{}, places)} }

var (
	_ pillar.Checker         = (*Source)(nil)
	_ pillar.OnDemandChecker = (*Source)(nil)
)

// Name implements pillar.Source.
func (*Source) Name() string { return "reclass" }

// CheckOnDemand implements pillar.OnDemandChecker: minions must not choose code of the master.
func (*Source) CheckOnDemand(any, *data.Map) error {
	return errors.New("a minion may not choose the directories of reclass")
}

// Check implements pillar.Checker.
func (*Source) Check(argument any, _ *data.Map) error {
	if _, ok := argument.(*data.Map); !ok {
		return errors.New("expected a dictionary of the arguments of reclass")
	}
	return nil
}

// Pillar implements pillar.Source.
func (s *Source) Pillar(ctx context.Context, q pillar.Query) (*data.Map, error) {
	options, ok := q.Argument.(*data.Map)
	if !ok {
		return nil, errors.New("expected a dictionary of the arguments of reclass")
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	case <-ctx.Done():
		return nil, errors.New("too many calls of reclass are under way")
	}
	call := pylibrary.Reclass("ext_pillar", q.ID, options, q.Opts)
	call.Pillar = data.NewMap()
	if data.Truth(options.Value("propagate_pillar_data_to_reclass")) {
		call.Pillar = q.Pillar
	}
	v, err := call.Do(ctx)
	if err != nil {
		q.Log.Errorf("ext_pillar.reclass: %s: %s", q.ID, err)
		return nil, public(err)
	}
	m, ok := v.(*data.Map)
	if !ok {
		return nil, errors.New("reclass returned no dictionary")
	}
	return m, nil
}

// public returns the error that the minion sees.
func public(err error) error {
	e, ok := errors.AsType[*pylibrary.Error](err)
	if !ok {
		return errors.New("reclass cannot be used; please see the master's log")
	}
	if e.Of("builtins.TypeError") && strings.Contains(e.Text, "unexpected keyword argument") {
		words := strings.Fields(e.Text)
		return fmt.Errorf("ext_pillar.reclass: unexpected option: %s", words[len(words)-1])
	}
	for _, kind := range []string{"NotFoundError", "InterpolationError", "NameError", "MappingError"} {
		if e.Of("reclass.errors." + kind) {
			return fmt.Errorf("ext_pillar.reclass: %s", e.Text)
		}
	}
	return errors.New("ext_pillar.reclass: please see the master's log")
}
