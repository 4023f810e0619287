package master

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/payload"
)

// users knows the key files that prove who gives an order on the master's host: CACHEDIR/.USER_key, readable by that
// user alone (salt/daemons/masterapi.py, access_keys).
type users struct {
	master  string            // the user that the master runs for
	running string            // the user that it really runs as
	keys    map[string]string // by user
}

// newUsers makes a new key for each user, as each start of a master does.
func newUsers(cacheDir, masterUser string) (*users, error) {
	u := &users{master: masterUser, running: currentUser(masterUser), keys: map[string]string{}}
	for _, name := range []string{u.master, u.running} {
		if _, ok := u.keys[name]; ok {
			continue
		}
		key := crypto.NewKeyString()
		if err := writeKey(keyFile(cacheDir, name), name, key); err != nil {
			return nil, fmt.Errorf("key file of user %s: %w", name, err)
		}
		u.keys[name] = key
	}
	return u, nil
}

func keyFile(cacheDir, name string) string {
	return filepath.Join(cacheDir, "."+strings.ReplaceAll(name, `\`, "_")+"_key")
}

func currentUser(otherwise string) string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return otherwise
}

// writeKey puts key where only its user can read it; the file never holds a part of a key.
func writeKey(file, owner, key string) error {
	temp, err := os.CreateTemp(filepath.Dir(file), ".new-key-")
	if err != nil {
		return err
	}
	_, err = temp.WriteString(key)
	err = errors.Join(err, temp.Chmod(0o600), chown(temp, owner), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}

// errNotAuthenticated is the same whatever was wrong, so that nobody learns which user has a key.
var errNotAuthenticated = errors.New("not authenticated")

// authenticate decides by the fields user and key of a load whether its sender has all rights
// (salt/auth/__init__.py, authenticate_key). Users that have rights to some functions only do not exist here.
func (u *users) authenticate(load payload.Fields) error {
	key, _ := load.Text("key")
	name, named := load.Text("user")
	switch {
	case !named:
		name = u.running
	case strings.HasPrefix(name, "sudo_"), name == "root":
		name = u.master
	}
	if equal(key, u.keys["root"]) || equal(key, u.keys[name]) {
		return nil
	}
	return errNotAuthenticated
}

func equal(given, want string) bool {
	return want != "" && subtle.ConstantTimeCompare([]byte(given), []byte(want)) == 1
}
