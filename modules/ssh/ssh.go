// Package ssh is Salt's module ssh: keys that may log in, keys of hosts that users know, and keys of hosts and users
// (salt/modules/ssh.py). Known hosts are found, hashed and removed by ssh-keygen, and asked for their keys by ssh-keyscan.
//
// Files are written as a whole and keep their owner, mode and attributes.
//
// What differs from Salt: a file of keys that cannot be read is an error and never one without keys, lines that are no keys stay when a
// key is removed, and where known hosts get keys of several kinds, no other kind goes.
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

// owner returns a user by name, whether there is one.
func (m *module) owner(ctx context.Context, name string) (owner, bool, error) {
	v, err := m.env.Call(ctx, "user.info", []any{name}, nil)
	info, _ := v.(*data.Map)
	uid, _ := info.Value("uid").(int64)
	gid, _ := info.Value("gid").(int64)
	return owner{name, info.Text("home"), uid, gid}, info.Len() > 0, err
}

// gives tells whether files are to be given to the user: where we may.
func (o owner) gives() bool { return os.Geteuid() == 0 && o.uid >= 0 }

// ownFile gives an open file to the user.
func (o owner) ownFile(f *os.File) error {
	if !o.gives() {
		return nil
	}
	return f.Chown(int(o.uid), int(o.gid))
}

// put gives a file of the user's a text: the one that is there keeps what it is, a new one is the user's alone. Directories that are not
// there are made so, too.
//
// What lies in the user's home directory is the user's to link elsewhere: where such a link leads, all must be the user's own.
func (m *module) put(o owner, path, text string) error {
	place, err := o.place(m.path(o.home), path)
	if err != nil {
		return err
	}
	if err := o.folder(filepath.Dir(place)); err != nil {
		return err
	}
	options := atomicfile.Options{Mode: 0o600, Keep: true}
	if _, err := os.Stat(place); errors.Is(err, fs.ErrNotExist) {
		options.Own = o.ownFile
	}
	return atomicfile.Write(place, []byte(text), options)
}

// place returns where a file really lies. A link in the home directory that leads out of it must lead to what is the user's.
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
		err = fmt.Errorf("%s leads out of the home directory of %s to %s, which is another's", path, o.name, what)
	}
	return real, err
}

func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// folder makes the directory of a file where there is none. It never follows a link that takes its place meanwhile.
func (o owner) folder(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil || !o.gives() {
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

// fingerprint returns the hash of a key in pairs of digits with colons between (RFC 4716), "" for what is no key.
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
