//go:build linux

// Package shadow is Salt's module shadow: passwords and their expiry
// (salt/modules/linux_shadow.py).
//
// The programs chage and passwd do the work; set_password writes etc/shadow itself. With another
// root directory the programs get the option -R.
//
// Differences from Salt: entries are read only from etc/shadow. set_password replaces the file
// atomically, under the lock of the programs, and never writes a user twice. With use_usermod it
// runs chpasswd, since all users can read a hash in the arguments of a program. gen_password does
// not support DES, which Salt calls crypt, and accepts at most a million rounds.
package shadow

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pwhash"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("default_hash", m.defaultHash),
		loader.F("del_password", m.delPassword),
		loader.F("gen_password", m.genPassword).Secret("password").SecretResult(loader.SecretAll),
		loader.F("info", m.info).SecretResult("passwd"),
		loader.F("list_users", m.listUsers),
		loader.F("lock_password", m.lockPassword),
		loader.F("set_date", m.setDate),
		loader.F("set_expire", m.setExpire),
		loader.F("set_inactdays", m.setInactdays),
		loader.F("set_maxdays", m.setMaxdays),
		loader.F("set_mindays", m.setMindays),
		loader.F("set_password", m.setPassword).Secret("password"),
		loader.F("set_warndays", m.setWarndays),
		loader.F("unlock_password", m.unlockPassword),
	}}, nil
}

// defaultHash returns the hash field of a user whose password was never set.
//
// CLI Example:
//
//	salt '*' shadow.default_hash
func (m *module) defaultHash(context.Context, loader.NoArgs) (any, error) { return "!", nil }

type nameArgs struct {
	Name string
	Root any `default:"None"`
}

// info returns the password hash and the expiry data of a user. The fields are empty if the user
// does not exist.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' shadow.info root
func (m *module) info(_ context.Context, a nameArgs) (any, error) {
	e, err := m.entry(a.Name, a.Root)
	if err != nil {
		return nil, err
	}
	return e.toMap(), nil
}

type rootArgs struct {
	Root any `default:"None"`
}

// listUsers returns the names of all users in /etc/shadow, sorted.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' shadow.list_users
func (m *module) listUsers(_ context.Context, a rootArgs) (any, error) {
	list, err := m.entries(a.Root)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range list {
		names = append(names, e.name)
	}
	slices.Sort(names)
	out := make([]any, len(names))
	for i, name := range names {
		out[i] = name
	}
	return out, nil
}

type genPasswordArgs struct {
	Password  any
	CryptSalt any `default:"None"`
	Algorithm any `default:"'sha512'"`
}

// genPassword returns the hash of a password in the form used in /etc/shadow. If the password is on
// the command line, all users of the host can read it while the program runs.
//
// crypt_salt : None
//
//	The salt. Default: random. It may begin with rounds=N$, a million at most. For blowfish it
//	begins with the cost: 12$.
//
// algorithm : sha512
//
//	sha512, sha256, blowfish or md5.
//
// CLI Example:
//
//	salt '*' shadow.gen_password 'I_am_password' crypt_salt='I_am_salt' algorithm=sha256
func (m *module) genPassword(_ context.Context, a genPasswordArgs) (any, error) {
	method := pwhash.SHA512
	if a.Algorithm != nil {
		method = pwhash.Method(data.Str(a.Algorithm))
	}
	if !pwhash.Known(string(method)) {
		return nil, loader.Invocation("Cannot hash using '%s' hash algorithm. Natively supported algorithms are: ['sha512', 'sha256', 'blowfish', 'md5'].",
			data.Str(a.Algorithm))
	}
	salt := method.Salt()
	if a.CryptSalt != nil {
		salt = data.Str(a.CryptSalt)
	}
	hash, err := method.Hash(data.Str(a.Password), salt)
	switch {
	case errors.Is(err, pwhash.ErrSalt):
		return "*0", nil // crypt(3) returns this
	case err != nil:
		return nil, loader.Execution("%w", err)
	}
	return hash, nil
}

// delPassword deletes the password of a user, who can then log in without one, and reports whether
// that worked.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' shadow.del_password username
func (m *module) delPassword(ctx context.Context, a nameArgs) (any, error) {
	e, err := m.after(ctx, a, "passwd", "-d")
	return err == nil && e.password == "" && e.name == a.Name, err
}

// lockPassword locks the password of a user and reports whether it is locked.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' shadow.lock_password username
func (m *module) lockPassword(ctx context.Context, a nameArgs) (any, error) {
	e, err := m.entry(a.Name, a.Root)
	if err == nil && e.name != "" && !e.locked() {
		e, err = m.after(ctx, a, "passwd", "-l")
	}
	return err == nil && e.locked(), err
}

// unlockPassword unlocks the password of a user and reports whether it is unlocked. A user without
// a password stays locked.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' shadow.unlock_password username
func (m *module) unlockPassword(ctx context.Context, a nameArgs) (any, error) {
	e, err := m.entry(a.Name, a.Root)
	if err == nil && e.name != "" && e.locked() {
		e, err = m.after(ctx, a, "passwd", "-u")
	}
	return err == nil && e.name != "" && !e.locked(), err
}

// after runs a program on a user and returns the user's entry afterwards.
func (m *module) after(
	ctx context.Context, a nameArgs, program string, args ...any,
) (entry, error) {
	if _, err := m.tool(ctx, program, a.Root, append(args, "--", a.Name)...); err != nil {
		return entry{}, err
	}
	return m.entry(a.Name, a.Root)
}

// tool runs a program that changes users below a directory and reports whether it succeeded. None
// stands for the minion's system.
func (m *module) tool(ctx context.Context, program string, root any, args ...any) (bool, error) {
	argv := []any{program}
	if root == nil && m.env.Root != "" {
		root = m.env.Root
	}
	if root != nil {
		argv = append(argv, "-R", root)
	}
	return calls.Succeeds(ctx, m.env, calls.Run{Argv: data.Texts(append(argv, args...))})
}

func (e entry) locked() bool { return strings.HasPrefix(e.password, "!") }
