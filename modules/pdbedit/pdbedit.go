// Package pdbedit is Salt's module pdbedit: the accounts of Samba's user database, by the program
// pdbedit (salt/modules/pdbedit.py).
//
// pdbedit.go reads accounts, and account.go changes them.
//
// Differences from Salt: a plain password reaches pdbedit and smbpasswd on their standard input, and
// not as a hash among the arguments. A password that is given as a hash is set by Samba's library for
// Python, as pdbedit reads hashes from its arguments only, and an import of a file would replace the
// other fields of the account too. Until then a new account has a random password, and not an empty
// one. Account flags that an account has already are no change; generate_nt_hash returns a text; a
// failing list is an error of the functions that change accounts; and the version of Samba, which must
// be 4.5 or newer, is not checked.
package pdbedit

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"unicode/utf16"

	"golang.org/x/crypto/md4"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module pdbedit. It is available on hosts with the program pdbedit.
func Plugin() loader.Plugin { return loader.Plugin{Name: "pdbedit", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("pdbedit") == "" {
		return nil, errors.New("pdbedit command is not available")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("create", m.create).Secret("password"),
		loader.F("delete", m.delete),
		loader.F("generate_nt_hash", m.generateNTHash).Secret("password"),
		loader.F("get", m.get),
		loader.F("list", m.list),
		loader.F("modify", m.modify).Secret("password"),
	}}, nil
}

type hashArgs struct{ Password string }

// generateNTHash returns the NT hash of a password in hexadecimal.
//
// CLI Example:
//
//	salt '*' pdbedit.generate_nt_hash my_passwd
func (m *module) generateNTHash(_ context.Context, a hashArgs) (any, error) {
	return ntHash(a.Password), nil
}

// ntHash returns the MD4 sum of a password in UTF-16.
func ntHash(password string) string {
	var text []byte
	for _, unit := range utf16.Encode([]rune(password)) {
		text = binary.LittleEndian.AppendUint16(text, unit)
	}
	sum := md4.New()
	_, _ = sum.Write(text)
	return strings.ToUpper(hex.EncodeToString(sum.Sum(nil)))
}

type listArgs struct {
	Verbose any `default:"True"`
	Hashes  any `default:"False"`
}

// list returns the accounts by their names, each with its fields.
//
// verbose : True
//
//	If it is False, the result is a list of the names.
//
// hashes : False
//
//	Include the hashes of the passwords.
//
// CLI Example:
//
//	salt '*' pdbedit.list
func (m *module) list(ctx context.Context, a listArgs) (any, error) {
	if data.Truth(a.Verbose) {
		return m.users(ctx, data.Truth(a.Hashes))
	}
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: []string{"pdbedit", "--list"}})
	switch {
	case err != nil:
		return nil, err
	case ran.Retcode > 0:
		return data.NewMap("Error", ran.Stderr), nil
	}
	return data.Values(namesOf(ran.Stdout)), nil
}

// namesOf returns the names in the short list of pdbedit.
func namesOf(text string) []string {
	var names []string
	for line := range strings.SplitSeq(text, "\n") {
		if fields := strings.Split(line, ":"); len(fields) > 2 {
			names = append(names, fields[0])
		}
	}
	return names
}

// users returns the accounts by their names. There are none if pdbedit fails, which the log tells.
func (m *module) users(ctx context.Context, hashes bool) (*data.Map, error) {
	argv := []string{"pdbedit", "--list", "--verbose"}
	if hashes {
		argv = append(argv, "--smbpasswd-style")
	}
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: argv, Log: "quiet"})
	if err != nil {
		return nil, err
	}
	if ran.Retcode > 0 {
		m.env.Log.Error(ran.Stderr)
		return &data.Map{}, nil
	}
	return accounts(ran.Stdout), nil
}

// accounts reads the long list of pdbedit. A line without a colon continues the value before it.
func accounts(text string) *data.Map {
	found, fields, last := &data.Map{}, &data.Map{}, ""
	end := func() {
		if name, ok := fields.Get("unix username"); ok {
			found.Set(name, fields)
		}
		fields, last = &data.Map{}, ""
	}
	for line := range strings.SplitSeq(text, "\n") {
		label, value, ok := strings.Cut(line, ":")
		switch line = strings.TrimSpace(line); {
		case line == "":
		case strings.Trim(line, "-") == "":
			end()
		case ok:
			last = strings.ToLower(strings.TrimSpace(label))
			fields.Set(last, strings.TrimSpace(value))
		case fields.Has(last):
			fields.Set(last, fields.Text(last)+line)
		}
	}
	end()
	return found
}

type getArgs struct {
	Login  string
	Hashes any `default:"False"`
}

// get returns the fields of an account. There are none if it does not exist.
//
// hashes : False
//
//	Include the hashes of the password.
//
// CLI Example:
//
//	salt '*' pdbedit.get kaylee
func (m *module) get(ctx context.Context, a getArgs) (any, error) {
	return m.account(ctx, a.Login, data.Truth(a.Hashes))
}

func (m *module) account(ctx context.Context, login string, hashes bool) (*data.Map, error) {
	users, err := m.users(ctx, hashes)
	if account, ok := users.Value(login).(*data.Map); ok {
		return account, err
	}
	return &data.Map{}, err
}
