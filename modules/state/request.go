package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
)

const (
	requestFile    = "req_state.p" // in the minion's cache: name → request
	defaultRequest = "default"
)

type nameArgs struct {
	Name any `default:"None"`
}

// checkRequest returns the requests that state.request stored and that have not run yet, or the one
// with a name.
//
// CLI Example:
//
//	salt '*' state.check_request
func (m *module) checkRequest(_ context.Context, a nameArgs) (any, error) {
	requests, err := m.requests()
	if err != nil || !data.Truth(a.Name) || requests == nil {
		return orEmpty(requests), err
	}
	one, ok := requests.Get(a.Name)
	if !ok {
		return nil, loader.Exception("KeyError", "%s", data.Repr(a.Name))
	}
	return one, nil
}

// clearRequest deletes the requests that state.request stored, or the one with a name. It reports
// whether a request of that name existed.
//
// CLI Example:
//
//	salt '*' state.clear_request
func (m *module) clearRequest(_ context.Context, a nameArgs) (any, error) {
	requests, err := m.requests()
	if err != nil || requests == nil {
		return true, err
	}
	if data.Truth(a.Name) {
		if !requests.Has(a.Name) {
			return false, nil
		}
		requests.Delete(a.Name)
		return true, m.writeCached(requestFile, requests)
	}
	dir, err := m.cacheDir()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if err := dir.Remove(requestFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return true, nil
}

// requests returns the stored requests, nil if the file does not exist.
func (m *module) requests() (*data.Map, error) { return m.readCached(requestFile) }

// readCached reads a file in the cache directory that holds a dictionary. It returns nil if the
// file does not exist.
func (m *module) readCached(name string, below ...string) (*data.Map, error) {
	dir, err := m.cacheDir(below...)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	body, err := dir.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v, err := payload.UnmarshalText(body, payload.Limits{})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	kept, ok := v.(*data.Map)
	if !ok {
		return nil, fmt.Errorf("read %s: it does not contain a dictionary", name)
	}
	return kept, nil
}

// writeCached writes a file that readCached reads.
func (m *module) writeCached(name string, content *data.Map, below ...string) error {
	dir, err := m.cacheDir(below...)
	if err != nil {
		return err
	}
	defer dir.Close()
	body, err := payload.MarshalBin(content)
	if err != nil {
		return err
	}
	return atomicfile.WriteIn(dir, name, body, atomicfile.Options{Mode: 0o600})
}

func orEmpty(m *data.Map) *data.Map {
	if m == nil {
		return data.NewMap()
	}
	return m
}

// request runs the states of some SLS in test mode and stores the call as a request. It stays until
// somebody on the minion runs it with state.run_request or clears it. Its arguments are those of
// state.apply.
//
// name
//
//	The name to store it under. Default: default.
//
// CLI Example:
//
//	salt '*' state.request
//	salt '*' state.request core,edit.vim
func (m *module) request(ctx context.Context, a applyArgs) (any, error) {
	words := a.Kwargs.Clone()
	words.Set("test", true)
	ret, err := m.env.Call(ctx, "state.apply", []any{a.Mods}, words)
	if err != nil {
		return nil, err
	}
	requests, err := m.requests()
	if err != nil {
		return nil, err
	}
	requests = orEmpty(requests)
	name := words.Value("name")
	if name == nil {
		name = defaultRequest
	}
	requests.Set(name, data.NewMap("test_run", ret, "mods", a.Mods, "kwargs", words))
	if err := m.writeCached(requestFile, requests); err != nil {
		m.env.Log.Errorf("Unable to write state request file %s. Check permission. %v",
			requestFile, err)
	}
	return ret, nil
}

type runRequestArgs struct {
	Name   any       `default:"'default'"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// runRequest runs a request that state.request stored, and then deletes all stored requests. Its
// arguments are added to those of the request.
//
// CLI Example:
//
//	salt '*' state.run_request
func (m *module) runRequest(ctx context.Context, a runRequestArgs) (any, error) {
	requests, err := m.requests()
	if err != nil {
		return nil, err
	}
	request, _ := requests.Value(a.Name).(*data.Map)
	words, ok := request.Value("kwargs").(*data.Map)
	if !ok || !request.Has("mods") {
		return data.NewMap(), nil
	}
	words = words.Clone()
	words.Update(a.Kwargs)
	words.Delete("test")
	ret, err := m.env.Call(ctx, "state.apply", []any{request.Value("mods")}, words)
	if err != nil {
		return nil, err
	}
	if _, err := m.clearRequest(ctx, nameArgs{}); err != nil {
		m.env.Log.Errorf("Unable to delete the stored state requests: %v", err)
	}
	return ret, nil
}
