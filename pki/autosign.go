package pki

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
)

// An Autosign holds the rules that accept or reject a key without the operator (salt/daemons/masterapi.py: AutoKey).
// Files are read again when they change. Several goroutines may use it; its fields must not change meanwhile.
//
// A line of File or RejectFile is for an id that it equals, that it matches as a glob, or that it matches as a regular
// expression of RE2; lines that begin with # are comments. Unlike in Salt, an expression with alternatives in File
// must match the whole id by each of them. A file that others could have written is ignored.
type Autosign struct {
	AcceptAll  bool          // auto_accept
	File       string        // autosign_file; may be missing
	RejectFile string        // autoreject_file; may be missing
	Dir        string        // directory of ids to accept once, pki_dir/minions_autosign; "" for none
	Timeout    time.Duration // autosign_timeout: older files in Dir are removed; 0 keeps them
	GrainsDir  string        // autosign_grains_dir: a file a grain, a line a value
	Permissive bool          // permissive_pki_access: files may be writable for the group

	mu     sync.Mutex
	sign   *signingFile
	reject *signingFile
}

// Decide returns what the rules say to an id: grains are those that the minion sent as autosign_grains, or nil. A file
// of the id in Dir is used up. Call it once for each sign-in, for a valid id only.
//
// The error is for the log: it names rules that could not be used. The answers are good nevertheless; when RejectFile
// could not be read, nothing is signed.
func (a *Autosign) Decide(id string, grains *data.Map) (sign, reject bool, err error) {
	if err := ValidID(id); err != nil {
		return false, false, err
	}
	reject, unread, errReject := a.rejects(id)
	sign, errSign := a.signs(id, grains)
	return sign && !unread, reject, errors.Join(errReject, errSign)
}

// rejects says whether RejectFile names the id, and whether it could not be read. One with wrong permissions counts as
// empty, as in Salt.
func (a *Autosign) rejects(id string) (yes, unread bool, err error) {
	f, err := a.load(a.RejectFile, &a.reject, false)
	if err != nil {
		return false, !errors.Is(err, ErrPermissions), fmt.Errorf("autoreject_file: %w", err)
	}
	return f.matches(id), false, f.problems
}

// signs asks the rules in Salt's order, and no more than it must: the file in Dir is used up only when needed.
func (a *Autosign) signs(id string, grains *data.Map) (bool, error) {
	if a.AcceptAll {
		return true, nil
	}
	yes, errFile := a.listed(id)
	if yes {
		return true, errFile
	}
	yes, errDir := a.takeStub(id)
	if yes {
		return true, errors.Join(errFile, errDir)
	}
	yes, errGrains := a.grainsSign(grains)
	return yes, errors.Join(errFile, errDir, errGrains)
}

func (a *Autosign) listed(id string) (bool, error) {
	f, err := a.load(a.File, &a.sign, true)
	if err != nil {
		return false, fmt.Errorf("autosign_file: %w", err)
	}
	return f.matches(id), f.problems
}

// load returns a file's rules and keeps them in *kept.
func (a *Autosign) load(path string, kept **signingFile, strict bool) (*signingFile, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f, err := readSigningFile(path, *kept, a.Permissive, strict)
	*kept = f
	return f, err
}

// takeStub removes the file of an id from Dir and reports whether it was there, and young enough.
func (a *Autosign) takeStub(id string) (bool, error) {
	if a.Dir == "" {
		return false, nil
	}
	r, err := enter(a.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("minions_autosign: %w", err)
	}
	defer r.leave()
	if err := a.expire(r); err != nil {
		return false, fmt.Errorf("minions_autosign: %w", err)
	}
	if _, err := r.regular(id); err != nil {
		return false, nil
	}
	if err := r.remove(id); err != nil {
		return false, fmt.Errorf("minions_autosign: %s: %w", id, err)
	}
	return true, nil
}

// expire removes files older than Timeout.
func (a *Autosign) expire(r *room) error {
	if a.Timeout <= 0 {
		return nil
	}
	names, err := r.names()
	if err != nil {
		return err
	}
	for _, name := range names {
		info, err := r.regular(name)
		if err != nil || time.Since(info.ModTime()) <= a.Timeout {
			continue
		}
		if err := r.remove(name); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// grainsSign reports whether a file of GrainsDir has a line equal to the grain it is named after.
func (a *Autosign) grainsSign(grains *data.Map) (bool, error) {
	if a.GrainsDir == "" || grains.Len() == 0 {
		return false, nil
	}
	r, err := enter(a.GrainsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("autosign_grains_dir: %w", err)
	}
	defer r.leave()
	names, err := r.names()
	var problems []error
	for _, name := range names {
		value, ok := grains.Get(name)
		if !ok {
			continue
		}
		yes, err := a.grainListed(r, name, data.Str(value))
		if yes {
			return true, nil
		}
		problems = append(problems, err)
	}
	return false, errors.Join(append(problems, err)...)
}

func (a *Autosign) grainListed(r *room, name, value string) (bool, error) {
	path := filepath.Join(a.GrainsDir, name)
	info, err := r.regular(name)
	if err == nil {
		err = checkMode(info, a.Permissive)
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	text, err := r.read(name)
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	for _, line := range rules(text) {
		if line == value {
			return true, nil
		}
	}
	return false, nil
}
