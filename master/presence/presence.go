// Package presence knows which minions are connected to a master, and tells other programs on its host.
//
// The master keeps an [Index] of its connections. It writes the file CACHEDIR/presence when that changes, at most once
// a second, and [Read] believes it for as long as the master holds its lock. Real masters have no such file; there one
// asks the system for connections.
//
// The file is JSON: an object with the field minions, which has the host that each connected minion was heard from.
package presence

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/pki"
)

// ErrNoMaster is returned by Read where no master runs that writes the file.
var ErrNoMaster = errors.New("no master tells who is connected")

const (
	fileName = "presence"
	// LockName is the file in a cachedir that a running master has locked.
	LockName = ".master_lock"
	maxFile  = 64 << 20 // bytes
)

type content struct {
	Minions map[string]string `json:"minions"`
}

// Read returns the ids of the minions that are connected to the master with that cachedir, sorted. The error wraps
// ErrNoMaster where there is no file, or the master that wrote it does not run.
func Read(cachedir string) ([]string, error) {
	running, err := daemon.Locked(filepath.Join(cachedir, LockName))
	if err != nil {
		return nil, fmt.Errorf("look for the master: %w", err)
	}
	if !running {
		return nil, ErrNoMaster
	}
	hosts, err := Last(cachedir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrNoMaster
	}
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(hosts)), nil
}

// Last returns what a master has written, running or not: the minions that were connected, each with its host. The
// error wraps fs.ErrNotExist where there is no file.
func Last(cachedir string) (hosts map[string]string, err error) {
	name := filepath.Join(cachedir, fileName)
	info, err := os.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("who is connected: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("who is connected: %s is no file of a master", name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("who is connected: %w", err)
	}
	return parse(text)
}

// parse reads a file. Names that no minion can have are left out.
func parse(text []byte) (map[string]string, error) {
	var c content
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("who is connected: %w", err)
	}
	maps.DeleteFunc(c.Minions, func(id, _ string) bool { return pki.ValidID(id) != nil })
	if c.Minions == nil {
		c.Minions = map[string]string{}
	}
	return c.Minions, nil
}

// Write replaces what is told in a cachedir, as a whole.
func Write(cachedir string, hosts map[string]string) (err error) {
	text, err := json.Marshal(content{Minions: hosts})
	if err != nil {
		return fmt.Errorf("tell who is connected: %w", err)
	}
	if err := atomicfile.Write(filepath.Join(cachedir, fileName), text, atomicfile.Options{Prefix: ".presence-"}); err != nil {
		return fmt.Errorf("tell who is connected: %w", err)
	}
	return nil
}
