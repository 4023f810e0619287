// Package presence tracks which minions are connected to a master, and publishes that to other
// programs on its host.
//
// The master keeps an [Index] of its connections. When it changes, at most once a second, the
// master writes the file CACHEDIR/presence. [Read] trusts the file while the master holds its lock.
// Salt's masters have no such file; for them the open connections of the system must be examined
// instead.
//
// The file is JSON: an object with the field minions, which maps each connected minion to the host
// that it was heard from, and the field since, which maps it to the time when it became connected, in
// seconds since 1970. Files of earlier masters lack since.
package presence

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/pki"
)

// ErrNoMaster is returned by Read if no running master writes the file.
var ErrNoMaster = errors.New("no running master reports connected minions")

const (
	fileName = "presence"
	// LockName is the file in a cachedir that a running master keeps locked.
	LockName = ".master_lock"
	maxFile  = 64 << 20 // bytes
)

type content struct {
	Minions map[string]string `json:"minions"`
	Since   map[string]int64  `json:"since,omitempty"`
}

// Read returns the sorted ids of the minions that are connected to the master with that cachedir.
// The error wraps ErrNoMaster if there is no file, or if the master that wrote it is not running.
func Read(cachedir string) ([]string, error) {
	all, err := ReadConnections(cachedir)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(all)), nil
}

// ReadConnections returns the minions that are connected to the master with that cachedir. Its errors
// are those of Read.
func ReadConnections(cachedir string) (map[string]Connection, error) {
	running, err := daemon.Locked(filepath.Join(cachedir, LockName))
	if err != nil {
		return nil, fmt.Errorf("check whether the master is running: %w", err)
	}
	if !running {
		return nil, ErrNoMaster
	}
	c, err := last(cachedir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrNoMaster
	}
	if err != nil {
		return nil, err
	}
	all := make(map[string]Connection, len(c.Minions))
	for id, host := range c.Minions {
		one := Connection{Host: host}
		if at, ok := c.Since[id]; ok {
			one.Since = time.Unix(at, 0)
		}
		all[id] = one
	}
	return all, nil
}

// Last returns the last content that a master wrote, even if it is not running: the connected
// minions and their hosts. The error wraps fs.ErrNotExist if there is no file.
func Last(cachedir string) (hosts map[string]string, err error) {
	c, err := last(cachedir)
	if err != nil {
		return nil, err
	}
	return c.Minions, nil
}

// last reads the file.
func last(cachedir string) (*content, error) {
	name := filepath.Join(cachedir, fileName)
	info, err := os.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("read presence file: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("read presence file: %s is not a file of a master", name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read presence file: %w", err)
	}
	return parse(text)
}

// parse decodes the file. Invalid minion ids are left out.
func parse(text []byte) (*content, error) {
	c := &content{}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("read presence file: %w", err)
	}
	maps.DeleteFunc(c.Minions, func(id, _ string) bool { return pki.ValidID(id) != nil })
	if c.Minions == nil {
		c.Minions = map[string]string{}
	}
	return c, nil
}

// Write replaces the presence file of a cachedir atomically.
func Write(cachedir string, all map[string]Connection) (err error) {
	c := content{Minions: make(map[string]string, len(all)), Since: make(map[string]int64, len(all))}
	for id, one := range all {
		c.Minions[id] = one.Host
		if !one.Since.IsZero() {
			c.Since[id] = one.Since.Unix()
		}
	}
	text, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("write presence file: %w", err)
	}
	if err := atomicfile.Write(filepath.Join(cachedir, fileName), text,
		atomicfile.Options{Prefix: ".presence-"}); err != nil {
		return fmt.Errorf("write presence file: %w", err)
	}
	return nil
}
