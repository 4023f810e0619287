package auth

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/internal/atomicfile"
)

// keys are the key files that prove who gives an order on the master's host: CACHEDIR/.USER_key, readable by that user alone
// (salt/daemons/masterapi.py, access_keys).
type keys struct {
	dir string
	log logrus.FieldLogger

	mu      sync.RWMutex
	master  string            // the user that the master runs for
	running string            // the user that it really runs as
	byUser  map[string]string // key by user
}

func newKeys(dir string, log logrus.FieldLogger) *keys {
	return &keys{dir: dir, log: log, byUser: map[string]string{}}
}

// renew makes a key for each user who has none and should, and takes those of others away.
func (k *keys) renew(o Options) error {
	running := currentUser(o.User)
	wanted, err := keyUsers(o, running)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.master, k.running = o.User, running
	for name := range k.byUser {
		if !slices.Contains(wanted, name) {
			delete(k.byUser, name)
			if err := os.Remove(keyFile(k.dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				k.log.WithError(err).Warnf("remove the key file of user %s", name)
			}
		}
	}
	for _, name := range wanted {
		if err := k.add(name); err != nil {
			return err
		}
	}
	return nil
}

// add makes the key of a user. Only those of the master itself must succeed.
func (k *keys) add(name string) error {
	if _, ok := k.byUser[name]; ok {
		return nil
	}
	key := crypto.NewKeyString()
	err := writeKey(keyFile(k.dir, name), name, key)
	switch {
	case err == nil:
		k.byUser[name] = key
	case name == k.master || name == k.running:
		return fmt.Errorf("key file of user %s: %w", name, err)
	default:
		k.log.WithError(err).Errorf("key file of user %s, who cannot give orders now", name)
	}
	return nil
}

// keyUsers returns who gets a key: the master's user, the running one, those named in publisher_acl, and, with
// client_acl_verify, every user of the system whom an expression there matches. Without it a name that the system does not
// know gets one too.
func keyUsers(o Options, running string) ([]string, error) {
	all := []string{o.User, running}
	exprs := names(o.PublisherACL)
	if len(exprs) == 0 {
		return all, nil
	}
	known, err := systemUsers()
	if err != nil && o.VerifyClients {
		return nil, fmt.Errorf("publisher_acl: list users of the system: %w", err)
	}
	for _, e := range exprs {
		if validUser(e) && (!o.VerifyClients || slices.Contains(known, e) || lookUp(e)) {
			all = append(all, e)
		}
	}
	if o.VerifyClients {
		matching := newNameExprs(exprs)
		for _, name := range known {
			if validUser(name) && matching.match(name) {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// validUser reports whether a name can be that of a user, and so part of the name of a file.
func validUser(name string) bool {
	return name != "" && len(name) <= 128 && !strings.ContainsAny(name, "/\x00\n*?[]()|^$+") && !strings.HasPrefix(name, "sudo_")
}

func keyFile(dir, name string) string {
	return filepath.Join(dir, "."+strings.ReplaceAll(name, `\`, "_")+"_key")
}

func currentUser(otherwise string) string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return otherwise
}

// writeKey puts key where only its user can read it; the file never holds a part of a key.
func writeKey(file, owner, key string) error {
	own := func(f *os.File) error { return chown(f, owner) }
	return atomicfile.Write(file, []byte(key), atomicfile.Options{Mode: 0o600, Own: own, Prefix: ".new-key-"})
}

// A proven user is one whose key was right.
type proven struct {
	name string
	full bool // all rights
	sudo bool // name called sudo, and the key is that of the master's user
}

// prove looks which user a key proves (salt/auth/__init__.py, authenticate_key). Releases from 3007 on take any user's key
// for root's, or for sudo; here it must be that of the master's user, as in 3006.
func (k *keys) prove(c Credentials) (proven, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if !c.HasUser {
		return proven{name: k.running, full: true}, k.is(k.running, c.Key)
	}
	name, sudo := strings.CutPrefix(c.User, "sudo_")
	switch {
	case sudo:
		return proven{name: name, sudo: true}, k.is(k.master, c.Key)
	case k.is("root", c.Key):
		return proven{name: name, full: true}, true
	case name == "root":
		return proven{name: name, full: true}, k.is(k.master, c.Key)
	case name == k.master, name == k.running:
		return proven{name: name, full: true}, k.is(name, c.Key)
	}
	return proven{name: name}, k.is(name, c.Key)
}

// is reports in constant time whether key is that of a user. A user who has none takes as long.
func (k *keys) is(name, key string) bool {
	want, ok := k.byUser[name]
	if !ok {
		want = k.byUser[k.master]
	}
	same := subtle.ConstantTimeCompare([]byte(key), []byte(want)) == 1
	return same && ok && want != ""
}

// Users returns who has a key file.
func (g *Gate) Users() []string {
	g.keys.mu.RLock()
	defer g.keys.mu.RUnlock()
	all := make([]string, 0, len(g.keys.byUser))
	for name := range g.keys.byUser {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}
