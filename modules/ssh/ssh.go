// Package ssh is Salt's module ssh: authorized keys, known hosts, and the keys of hosts and users
// (salt/modules/ssh.py). ssh-keygen finds, hashes and removes known hosts, and ssh-keyscan fetches
// their keys.
//
// Files are replaced atomically and keep their owner, mode and attributes.
//
// Differences from Salt: an unreadable key file is an error and is not treated as empty. Lines that
// are not keys stay when a key is removed. When known hosts get keys of several kinds, keys of
// other kinds stay.
package ssh

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module ssh.
func Plugin() loader.Plugin { return loader.Plugin{Name: "ssh", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("ssh") == "" {
		return nil, errors.New("The module requires the ssh binary.") //nolint:staticcheck // Salt's text
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("auth_keys", m.authKeys),
		loader.F("check_key", m.checkKey),
		loader.F("check_key_file", m.checkKeyFile),
		loader.F("check_known_host", m.checkKnownHost),
		loader.F("get_known_host_entries", m.getKnownHostEntries),
		loader.F("hash_known_hosts", m.hashKnownHosts),
		loader.F("host_keys", m.hostKeys).SecretResult(loader.SecretAll),
		loader.F("key_is_encrypted", m.keyIsEncrypted),
		loader.F("recv_known_host_entries", m.recvKnownHostEntries),
		loader.F("rm_auth_key", m.rmAuthKey),
		loader.F("rm_auth_key_from_file", m.rmAuthKeyFromFile),
		loader.F("rm_known_host", m.rmKnownHost),
		loader.F("set_auth_key", m.setAuthKey),
		loader.F("set_auth_key_from_file", m.setAuthKeyFromFile),
		loader.F("set_known_host", m.setKnownHost),
		loader.F("user_keys", m.userKeys).SecretResult(loader.SecretAll),
	}}, nil
}

func (m *module) path(name string) string { return filepath.Join("/", m.env.Root, name) }

// An owner is a user whose files are read and written.
type owner struct {
	name     string
	home     string
	uid, gid int64
}

// owner looks a user up by name and returns whether the user exists.
func (m *module) owner(ctx context.Context, name string) (owner, bool, error) {
	u, ok, err := calls.UserInfo(ctx, m.env, name)
	return owner{name, u.Home, u.UID, u.GID}, ok, err
}

// mayChown reports whether to change the owner of files to the user, which only root may do.
func (o owner) mayChown() bool { return os.Geteuid() == 0 && o.uid >= 0 }

// ownFile makes the user the owner of an open file.
func (o owner) ownFile(f *os.File) error {
	if !o.mayChown() {
		return nil
	}
	return f.Chown(int(o.uid), int(o.gid))
}

// put writes a text to a file of the user. An existing file keeps its attributes; a new one is
// readable by the user only. Missing directories are created in the same way.
//
// Users can create links in their home directories. The target of such a link must belong to the
// user as a whole.
func (m *module) put(o owner, path, text string) error {
	place, err := o.place(m.path(o.home), path)
	if err != nil {
		return err
	}
	if err := o.makeDir(filepath.Dir(place)); err != nil {
		return err
	}
	options := atomicfile.Options{Mode: 0o600, Keep: true}
	if _, err := os.Stat(place); errors.Is(err, fs.ErrNotExist) {
		options.Own = o.ownFile
	}
	return atomicfile.Write(place, []byte(text), options)
}

// place resolves the links of a path. A link that leads out of the home directory must lead to
// files that belong to the user.
func (o owner) place(home, path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		dir, dirErr := filepath.EvalSymlinks(filepath.Dir(path))
		if dirErr != nil {
			return path, nil //nolint:nilerr // directories are to be made, or tell what is wrong when they are
		}
		real, err = filepath.Join(dir, filepath.Base(path)), nil
	}
	if err != nil || o.uid <= 0 || !below(home, path) {
		return real, err
	}
	realHome, err := filepath.EvalSymlinks(home)
	if err != nil || below(realHome, real) {
		return real, err
	}
	what := real
	info, err := os.Stat(real)
	if errors.Is(err, fs.ErrNotExist) {
		what = filepath.Dir(real)
		info, err = os.Stat(what)
	}
	if err == nil && !o.owns(info) {
		err = fmt.Errorf("%s leads out of the home directory of %s to %s, which belongs to another user", path, o.name, what)
	}
	return real, err
}

func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// makeDir creates the directory of a file if it is missing. It never follows a link that is created
// in its place meanwhile.
func (o owner) makeDir(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil || !o.mayChown() {
		return err
	}
	return os.Lchown(dir, int(o.uid), int(o.gid))
}

// kind returns the full name of a kind of key (_refine_enc of Salt).
func kind(enc any) (string, error) {
	name := data.Str(enc)
	switch name {
	case "r", "rsa":
		return "ssh-rsa", nil
	case "d", "dsa", "dss":
		return "ssh-dss", nil
	case "e", "ecdsa":
		return "ecdsa-sha2-nistp256", nil
	case "ed25519":
		return "ssh-ed25519", nil
	}
	if slices.Contains(strings.Fields(`ssh-rsa ssh-dss ecdsa-sha2-nistp521 ecdsa-sha2-nistp384 ecdsa-sha2-nistp256 ssh-ed25519
		rsa-sha2-512 rsa-sha2-256 rsa-sha2-512-cert-v01@openssh.com rsa-sha2-256-cert-v01@openssh.com ssh-rsa-cert-v01@openssh.com
		ecdsa-sha2-nistp256-cert-v01@openssh.com ecdsa-sha2-nistp384-cert-v01@openssh.com ecdsa-sha2-nistp521-cert-v01@openssh.com
		sk-ecdsa-sha2-nistp256@openssh.com sk-ecdsa-sha2-nistp256-cert-v01@openssh.com ssh-ed25519-cert-v01@openssh.com
		sk-ssh-ed25519@openssh.com sk-ssh-ed25519-cert-v01@openssh.com`), name) {
		return name, nil
	}
	return "", loader.Execution("Incorrect encryption key type '%s'.", name)
}

// fingerprint returns the hash of a key as pairs of hexadecimal digits with colons between them
// (RFC 4716), "" if it is not a key.
func fingerprint(key string, method any) (string, error) {
	name := "sha256"
	if data.Truth(method) {
		name = strings.ToLower(data.Str(method))
	}
	sum, err := crypto.NewHash(name)
	if err != nil {
		return "", loader.Execution("The fingerprint_hash_type %s is not supported.", name)
	}
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil || strings.ContainsAny(key, "\r\n") {
		return "", nil //nolint:nilerr // it is no key
	}
	_, _ = sum.Write(raw)
	digits := hex.EncodeToString(sum.Sum(nil))
	var pairs []string
	for i := 0; i < len(digits); i += 2 {
		pairs = append(pairs, digits[i:i+2])
	}
	return strings.Join(pairs, ":"), nil
}
