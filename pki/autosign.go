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

// An Autosign holds the rules that accept or reject a key without the operator
// (salt/daemons/masterapi.py: AutoKey). Files are read again when they change. It is safe for
// concurrent use as long as its fields do not change.
//
// A line of File or RejectFile matches an id that is equal to it, or that it matches as a glob or
// as an RE2 regular expression. Lines that begin with # are comments. Unlike in Salt, each
// alternative of an expression in File must match the whole id. A file that other users could have
// written is ignored.
type Autosign struct {
	AcceptAll  bool   // auto_accept
	File       string // autosign_file; may be missing
	RejectFile string // autoreject_file; may be missing
	// directory of ids to accept once, pki_dir/minions_autosign; "" for none
	Dir        string
	Timeout    time.Duration // autosign_timeout: older files in Dir are removed; 0 means never
	GrainsDir  string        // autosign_grains_dir: one file per grain, one value per line
	Permissive bool          // permissive_pki_access: the group may have write access to the files

	mu     sync.Mutex
	sign   *signingFile
	reject *signingFile
}

// Decide applies the rules to an id. grains are those that the minion sent as autosign_grains, or
// nil. A file for the id in Dir is consumed. Call it once per sign-in, and only for valid ids.
//
// The error is for the log and names rules that could not be used. The results are valid
// nevertheless; if RejectFile could not be read, nothing is signed.
func (a *Autosign) Decide(id string, grains *data.Map) (sign, reject bool, err error) {
	if err := ValidID(id); err != nil {
		return false, false, err
	}
	reject, unread, errReject := a.rejects(id)
	sign, errSign := a.signs(id, grains)
	return sign && !unread, reject, errors.Join(errReject, errSign)
}

// rejects reports whether RejectFile matches the id, and whether the file could not be read. As in
// Salt, a file with wrong permissions counts as empty.
func (a *Autosign) rejects(id string) (yes, unread bool, err error) {
	f, err := a.load(a.RejectFile, &a.reject, false)
	if err != nil {
		return false, !errors.Is(err, ErrPermissions), fmt.Errorf("autoreject_file: %w", err)
	}
	return f.matches(id), false, f.problems
}

// signs evaluates the rules in Salt's order and stops at the first match, so the file in Dir is
// consumed only if needed.
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

// load returns the rules of a file and caches them in *kept.
func (a *Autosign) load(path string, kept **signingFile, strict bool) (*signingFile, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f, err := readSigningFile(path, *kept, a.Permissive, strict)
	*kept = f
	return f, err
}

// takeStub removes the file of an id from Dir and reports whether it existed and was not too old.
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

// grainsSign reports whether a file of GrainsDir contains a line equal to the grain with the file's
// name.
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
