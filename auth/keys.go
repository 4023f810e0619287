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

// keys are the key files that authenticate users on the master's host: CACHEDIR/.USER_key, readable
// only by that user (salt/daemons/masterapi.py, access_keys).
type keys struct {
	dir string
	log logrus.FieldLogger

	mu      sync.RWMutex
	master  string            // configured user of the master
	running string            // actual user of the process
	byUser  map[string]string // key by user
}

func newKeys(dir string, log logrus.FieldLogger) *keys {
	return &keys{dir: dir, log: log, byUser: map[string]string{}}
}

// renew creates missing key files and removes those of users who no longer need one.
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
			if err := os.Remove(keyFile(k.dir, name)); err != nil &&
				!errors.Is(err, os.ErrNotExist) {
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

// add creates the key of a user. Only failures for the master's own users are errors.
func (k *keys) add(name string) error {
	if _, ok := k.byUser[name]; ok {
		return nil
	}
	file := keyFile(k.dir, name)
	if key, ok := keptKey(file, name); ok {
		k.byUser[name] = key
		return nil
	}
	key := crypto.NewKeyString()
	err := writeKey(file, name, key)
	switch {
	case err == nil:
		k.byUser[name] = key
	case name == k.master || name == k.running:
		return fmt.Errorf("key file of user %s: %w", name, err)
	default:
		k.log.WithError(err).Errorf("write key file of user %s, who cannot submit jobs without it",
			name)
	}
	return nil
}

// keyUsers returns the users who get a key: the master's user, the user of the process and those
// named in publisher_acl. With client_acl_verify these are all system users that match an
// expression there. Without it, names unknown to the system get one too.
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

// validUser reports whether name is a valid user name and thus safe in a file name.
func validUser(name string) bool {
	return name != "" && len(name) <= 128 && !strings.ContainsAny(name, "/\x00\n*?[]()|^$+") &&
		!strings.HasPrefix(name, "sudo_")
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

// keptKey returns the key that a file has since an earlier start, if nobody but its user could read it. As in Salt
// since 3007 it stays valid: Salt's syndic reads the key of its master once, when it starts.
func keptKey(file, owner string) (key string, ok bool) {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || !belongsTo(info, owner) ||
		info.Size() > crypto.KeyStringSize {
		return "", false
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", false
	}
	_, err = crypto.NewCrypticle(string(text))
	return string(text), err == nil
}

// writeKey writes key to a file readable only by its owner. The file never contains a partial key.
func writeKey(file, owner, key string) error {
	own := func(f *os.File) error { return chown(f, owner) }
	return atomicfile.Write(file, []byte(key),
		atomicfile.Options{Mode: 0o600, Own: own, Prefix: ".new-key-"})
}

// proven is a user authenticated by key.
type proven struct {
	name string
	full bool // all rights
	sudo bool // the claimed name is sudo_NAME, and the key is that of the master's user
}

// prove returns the user that a key authenticates (salt/auth/__init__.py, authenticate_key). Salt
// since 3007 accepts any user's key for root or sudo; here, as in 3006, it must be the key of the
// master's user.
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

// is compares key with that of a user in constant time. It takes as long for a user without a key.
func (k *keys) is(name, key string) bool {
	want, ok := k.byUser[name]
	if !ok {
		want = k.byUser[k.master]
	}
	same := subtle.ConstantTimeCompare([]byte(key), []byte(want)) == 1
	return same && ok && want != ""
}

// Users returns the users with a key file.
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
