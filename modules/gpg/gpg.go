// Package gpg is Salt's module gpg: keys and messages of OpenPGP (salt/modules/gpg.py). The work is that of the
// program gpg, version 2.1 or later where a passphrase is needed.
//
// What differs from Salt: gpg runs as the user whose keychain it is, where Salt runs it as root and then gives all
// files of the keychain to the user. Messages and signatures are texts, where Salt returns bytes. Names of keys may
// have all letters. delete_key looks into gnupghome, needs the passphrase for secret keys alone, and says when gpg
// refuses. trust_key has the argument gnupghome, as in 3007. A text that several signed is verified when all
// signatures are good, and not by a key that was revoked. sign uses no other key than the one that is named.
// receive_keys says when no key came. Files with secrets that are written belong to the minion's user alone.
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

// A keychain is gpg with the keychain of a user.
type keychain struct {
	m *module
	p gpg.Program
}

// do runs gpg as python-gnupg does.
func (k *keychain) do(ctx context.Context, c gpg.Call) (*gpg.Result, error) {
	c.Args = append([]string{"--no-verbose", "--fixed-list-mode", "--batch", "--with-colons"}, c.Args...)
	r, err := k.p.Do(ctx, c)
	if err == nil && r.Code != 0 {
		k.m.env.Log.Warnf("gpg returned a non-zero error code: %d", r.Code)
	}
	return r, invocation(err)
}

// open returns the keychain of a user; salt is the one beside the configuration.
func (m *module) open(ctx context.Context, user, home any) (*keychain, error) {
	who, err := m.user(ctx, user)
	if err != nil {
		return nil, err
	}
	dir := data.Str(home)
	switch {
	case data.Truth(home):
	case user == "salt":
		v, err := m.env.Call(ctx, "config.get", []any{"config_dir"}, nil)
		if err != nil {
			return nil, err
		}
		config := data.Str(v)
		if !data.Truth(v) {
			config = filepath.Dir(data.Str(m.env.Option("conf_file")))
		}
		dir = filepath.Join(config, "gpgkeys")
	default:
		dir = filepath.Join(who.home, ".gnupg")
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, loader.Exception("ValueError", "gnupghome should be a directory (it isn't): %s", dir)
	}
	become, err := who.become()
	if err != nil {
		return nil, err
	}
	return &keychain{m, gpg.Program{Path: process.Find("gpg"), Home: dir, Run: m.env.Run, Become: become}}, nil
}

// An account is whose keychain it is.
type account struct {
	name, home string
	uid, gid   int64
}

// user looks a user up; our own where none is named, and where salt is named and there is no such user.
func (m *module) user(ctx context.Context, user any) (*account, error) {
	own := !data.Truth(user)
	if own {
		v, err := m.env.Call(ctx, "config.option", []any{"user"}, nil)
		if err != nil {
			return nil, err
		}
		user = v
	}
	v, err := m.env.Call(ctx, "user.info", []any{user}, nil)
	if err != nil {
		return nil, err
	}
	info, _ := v.(*data.Map)
	switch {
	case info.Len() > 0:
	case user == "salt" && !own:
		return m.user(ctx, nil)
	default:
		return nil, loader.Invocation("User %s does not exist", data.Str(user))
	}
	who := &account{name: info.Text("name"), home: info.Text("home")}
	if who.uid, err = loader.Int(info.Value("uid")); err != nil {
		return nil, err
	}
	who.gid, err = loader.Int(info.Value("gid"))
	return who, err
}

// passphrase returns gpg_passphrase of the pillar, nil where there is none.
func (m *module) passphrase(ctx context.Context) (*string, error) {
	v, err := m.env.Call(ctx, "pillar.get", []any{"gpg_passphrase"}, nil)
	if err != nil || !data.Truth(v) {
		return nil, err
	}
	text := data.Str(v)
	return &text, nil
}

const noPassphrase = "gpg_passphrase not available in pillar."

// needed returns the passphrase where one is asked for.
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

// plain refuses names that gpg would take for options.
func plain(names ...string) error {
	for _, name := range names {
		if strings.HasPrefix(name, "-") {
			return loader.Invocation("'%s' begins with a dash, and gpg would take it for an option", name)
		}
	}
	return nil
}

// oneLine refuses texts of several lines where gpg reads lines.
func oneLine(values ...any) error {
	for _, v := range values {
		if strings.ContainsAny(data.Str(v), "\r\n\x00") {
			return loader.Invocation("%s does not fit into one line", data.Repr(v))
		}
	}
	return nil
}

// textOf returns octets as a text, where they are one.
func textOf(b []byte) any {
	if utf8.Valid(b) {
		return string(b)
	}
	return b
}

// input returns what a function works on: a text, or what is in a file.
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
