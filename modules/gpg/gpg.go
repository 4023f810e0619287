// Package gpg is Salt's module gpg: OpenPGP keys and messages (salt/modules/gpg.py). It runs the
// program gpg; functions with a passphrase need version 2.1 or later.
//
// Differences from Salt: gpg runs as the owner of the keychain. Salt runs it as root and then gives
// all files of the keychain to the user. Messages and signatures are strings; Salt returns bytes.
// Names of keys may contain any letters. delete_key uses gnupghome, needs the passphrase only for
// secret keys, and reports when gpg refuses. trust_key has the argument gnupghome, as in 3007. A
// text with several signatures is verified if all are good and none was made with a revoked key.
// sign uses only the named key. receive_keys reports if no key was received. Output files with
// secrets are readable only by the minion's user.
package gpg

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/gpg"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module gpg. It needs the program gpg.
func Plugin() loader.Plugin { return loader.Plugin{Name: "gpg", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("gpg") == "" {
		return nil, errors.New("The gpg execution module cannot be loaded: gpg binary is not in the path.") //nolint:staticcheck // Salt's text
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("create_key", m.createKey),
		loader.F("decrypt", m.decrypt),
		loader.F("delete_key", m.deleteKey),
		loader.F("encrypt", m.encrypt),
		loader.F("export_key", m.exportKey),
		loader.F("get_key", m.getKey),
		loader.F("get_secret_key", m.getSecretKey),
		loader.F("import_key", m.importKey),
		loader.F("list_keys", m.listKeys),
		loader.F("list_secret_keys", m.listSecretKeys),
		loader.F("receive_keys", m.receiveKeys),
		loader.F("search_keys", m.searchKeys),
		loader.F("sign", m.sign),
		loader.F("trust_key", m.trustKey),
		loader.F("verify", m.verify),
	}}, nil
}

func invocation(err error) error {
	if errors.Is(err, gpg.ErrPassphrase) {
		return loader.Exception("ValueError", "%v", err)
	}
	return err
}

// A keychain runs gpg with the keychain of a user.
type keychain struct {
	m *module
	p gpg.Program
}

// do runs gpg as python-gnupg does.
func (k *keychain) do(ctx context.Context, c gpg.Call) (*gpg.Result, error) {
	c.Args = append([]string{"--no-verbose", "--fixed-list-mode", "--batch", "--with-colons"},
		c.Args...)
	r, err := k.p.Do(ctx, c)
	if err == nil && r.Code != 0 {
		k.m.env.Log.Warnf("gpg returned a non-zero error code: %d", r.Code)
	}
	return r, invocation(err)
}

// open returns the keychain of a user; salt means the one beside the configuration.
func (m *module) open(ctx context.Context, user, home any) (*keychain, error) {
	who, err := m.user(ctx, user)
	if err != nil {
		return nil, err
	}
	dir := data.Str(home)
	switch {
	case data.Truth(home):
	case user == "salt":
		config, err := calls.ConfigGet[string](ctx, m.env, "config_dir")
		if err != nil {
			return nil, err
		}
		if config == "" {
			config = filepath.Dir(data.Str(m.env.Option("conf_file")))
		}
		dir = filepath.Join(config, "gpgkeys")
	default:
		dir = filepath.Join(who.home, ".gnupg")
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, loader.Exception("ValueError",
			"gnupghome should be a directory (it isn't): %s", dir)
	}
	become, err := who.become()
	if err != nil {
		return nil, err
	}
	return &keychain{m, gpg.Program{Path: process.Find("gpg"), Home: dir, Run: m.env.Run,
		Become: become}}, nil
}

// An account is the owner of a keychain.
type account struct {
	name, home string
	uid, gid   int64
}

// user looks up a user. It returns the current user if none is named, or if salt is named and no
// such user exists.
func (m *module) user(ctx context.Context, user any) (*account, error) {
	own := !data.Truth(user)
	if own {
		v, err := calls.Option[any](ctx, m.env, "user")
		if err != nil {
			return nil, err
		}
		user = v
	}
	info, ok, err := calls.UserInfo(ctx, m.env, user)
	if err != nil {
		return nil, err
	}
	switch {
	case ok:
	case user == "salt" && !own:
		return m.user(ctx, nil)
	default:
		return nil, loader.Invocation("User %s does not exist", data.Str(user))
	}
	if info.UID < 0 || info.GID < 0 {
		return nil, loader.Execution("user.info returned no uid and gid for %s", data.Str(user))
	}
	return &account{name: info.Name, home: info.Home, uid: info.UID, gid: info.GID}, nil
}

// passphrase returns gpg_passphrase from the pillar, or nil if it is not set.
func (m *module) passphrase(ctx context.Context) (*string, error) {
	v, err := calls.PillarGet[any](ctx, m.env, "gpg_passphrase")
	if err != nil || !data.Truth(v) {
		return nil, err
	}
	text := data.Str(v)
	return &text, nil
}

const noPassphrase = "gpg_passphrase not available in pillar."

// needed returns the passphrase if one is requested.
func (m *module) needed(ctx context.Context, use any) (*string, error) {
	if !data.Truth(use) {
		return nil, nil
	}
	p, err := m.passphrase(ctx)
	if err == nil && p == nil {
		return nil, loader.Invocation(noPassphrase)
	}
	return p, err
}

// plain rejects names that gpg would parse as options.
func plain(names ...string) error {
	for _, name := range names {
		if strings.HasPrefix(name, "-") {
			return loader.Invocation("'%s' begins with a dash; gpg would treat it as an option",
				name)
		}
	}
	return nil
}

// oneLine rejects values with several lines, because gpg reads line by line.
func oneLine(values ...any) error {
	for _, v := range values {
		if strings.ContainsAny(data.Str(v), "\r\n\x00") {
			return loader.Invocation("%s contains a line break", data.Repr(v))
		}
	}
	return nil
}

// textOf returns bytes as a string if they are valid text.
func textOf(b []byte) any {
	if utf8.Valid(b) {
		return string(b)
	}
	return b
}

// input returns the input of a function: a string, or the content of a file.
func input(text, filename any) ([]byte, error) {
	switch {
	case data.Truth(text):
		if b, ok := text.([]byte); ok {
			return b, nil
		}
		return []byte(data.Str(text)), nil
	case data.Truth(filename):
		b, err := os.ReadFile(data.Str(filename))
		if err != nil {
			return nil, loader.OSError(err)
		}
		return b, nil
	}
	return nil, loader.Invocation("filename or text must be passed.")
}

func reader(b []byte) *bytes.Reader { return bytes.NewReader(b) }
