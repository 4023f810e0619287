package pdbedit

import (
	"context"
	"crypto/rand"
	_ "embed" // the program for Python
	"encoding/hex"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// exists reports whether there is an account.
func (m *module) exists(ctx context.Context, login string) (bool, error) {
	if err := process.PlainOperands(login); err != nil {
		return false, loader.Execution("%w", err)
	}
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: []string{"pdbedit", "--list"}})
	if err == nil && ran.Retcode > 0 {
		err = loader.Execution("list the accounts of Samba: %s", ran.Stderr)
	}
	return slices.Contains(namesOf(ran.Stdout), login), err
}

// change runs a program that changes an account. It returns its complaint if it fails, else "".
func (m *module) change(ctx context.Context, stdin string, argv ...string) (string, error) {
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: argv, Stdin: stdin, Log: "quiet"})
	switch {
	case err != nil || ran.Retcode <= 0:
		return "", err
	case ran.Stderr == "":
		return argv[0] + " failed", nil
	}
	return ran.Stderr, nil
}

type deleteArgs struct{ Login string }

// delete deletes an account. The result is, by its name, deleted, absent, or the error of pdbedit.
//
// CLI Example:
//
//	salt '*' pdbedit.delete wash
func (m *module) delete(ctx context.Context, a deleteArgs) (any, error) {
	there, err := m.exists(ctx, a.Login)
	switch {
	case err != nil:
		return nil, err
	case !there:
		return data.NewMap(a.Login, "absent"), nil
	}
	complaint, err := m.change(ctx, "", "pdbedit", "--delete", a.Login)
	if err != nil {
		return nil, err
	}
	if complaint == "" {
		complaint = "deleted"
	}
	return data.NewMap(a.Login, complaint), nil
}

type createArgs struct {
	Login          string
	Password       string
	PasswordHashed any `default:"False"`
	MachineAccount any `default:"False"`
}

// create creates an account, or sets the password of one that exists. The result is, by its name,
// created, updated, unchanged, or the error of a program.
//
// password_hashed : False
//
//	The password is an NT hash. To set one, python3 needs Samba's module (python3-samba).
//
// machine_account : False
//
//	Create the account of a machine.
//
// CLI Example:
//
//	salt '*' pdbedit.create zoe 9764951149F84E770889011E1DC4A927 nthash
//	salt '*' pdbedit.create river  1sw4ll0w3d4bug
func (m *module) create(ctx context.Context, a createArgs) (any, error) {
	outcome, err := m.bring(ctx, a)
	if err != nil {
		return nil, err
	}
	return data.NewMap(a.Login, outcome), nil
}

// bring creates an account, or sets its password.
func (m *module) bring(ctx context.Context, a createArgs) (string, error) {
	hash, first := ntHash(a.Password), a.Password
	hashed := data.Truth(a.PasswordHashed)
	if hashed {
		hash, first = strings.ToUpper(a.Password), rand.Text()
		if b, err := hex.DecodeString(hash); err != nil || len(b) != 16 {
			return "", loader.Execution("the password of %s is no NT hash", a.Login)
		}
	}
	if strings.ContainsAny(a.Password, "\n\r\x00") {
		return "", loader.Execution("the password of %s has more than one line", a.Login)
	}
	there, err := m.exists(ctx, a.Login)
	if err != nil {
		return "", err
	}
	outcome := "unchanged"
	if !there {
		argv := []string{"pdbedit", "--create", "--user", a.Login, "-t"}
		if data.Truth(a.MachineAccount) {
			argv = append(argv, "--machine")
		}
		if complaint, err := m.change(ctx, twice(first), argv...); err != nil || complaint != "" {
			return complaint, err
		}
		outcome = "created"
	}
	account, err := m.account(ctx, a.Login, true)
	had, known := account.Get("nt hash")
	switch {
	case err != nil:
		return "", err
	case !known:
		return "", loader.Execution("pdbedit lists no NT hash of %s", a.Login)
	case had == hash:
		return outcome, nil
	}
	argv, stdin := []string{"smbpasswd", "-s", a.Login}, twice(a.Password)
	if hashed {
		argv, stdin = []string{"python3", "-I", "-B", "-c", setHash, a.Login}, hash+"\n"
	}
	if complaint, err := m.change(ctx, stdin, argv...); err != nil || complaint != "" {
		return complaint, err
	}
	if outcome == "unchanged" {
		outcome = "updated"
	}
	return outcome, nil
}

// twice returns the input of a program that asks for a password and for its repetition.
func twice(password string) string { return password + "\n" + password + "\n" }

// setHash is a program for Python. It sets the NT hash on its standard input.
//
//go:embed sethash.py
var setHash string

type modifyArgs struct {
	Login                 string
	Password              any `default:"None"`
	PasswordHashed        any `default:"False"`
	Domain                any `default:"None"`
	Profile               any `default:"None"`
	Script                any `default:"None"`
	Drive                 any `default:"None"`
	Homedir               any `default:"None"`
	Fullname              any `default:"None"`
	AccountDesc           any `default:"None"`
	AccountControl        any `default:"None"`
	MachineSID            any `name:"machine_sid" default:"None"`
	UserSID               any `name:"user_sid" default:"None"`
	ResetLoginHours       any `default:"False"`
	ResetBadPasswordCount any `default:"False"`
}

// modify changes an account. With a password it creates an account that does not exist. The result
// is, by its name, created, updated, unchanged, absent, or the error of a program.
//
// password
//
//	The new password.
//
// password_hashed : False
//
//	The password is an NT hash.
//
// domain, fullname, account_desc
//
//	The domain, the full name and the description.
//
// profile, script, drive, homedir
//
//	The paths of the profile and the logon script, the drive and path of the home directory.
//
// account_control
//
//	The flags of the account: N (needs no password), D (disabled), H (needs a home directory), L
//	(locks itself), X (the password does not expire).
//
// machine_sid, user_sid
//
//	The SID or RID of the primary group of the machine, and of the user.
//
// reset_login_hours, reset_bad_password_count
//
//	Reset the hours in which the user may log in, and the count of wrong passwords.
//
// CLI Example:
//
//	salt '*' pdbedit.modify inara fullname='Inara Serra'
//	salt '*' pdbedit.modify jane drive='V:' homedir='\\\\serenity\\jane\\profile'
//	salt '*' pdbedit.modify mal account_control=NX
func (m *module) modify(ctx context.Context, a modifyArgs) (any, error) {
	outcome, err := m.alter(ctx, a)
	if err != nil {
		return nil, err
	}
	return data.NewMap(a.Login, outcome), nil
}

func (m *module) alter(ctx context.Context, a modifyArgs) (string, error) {
	outcome := "unchanged"
	if data.Truth(a.Password) {
		var err error
		outcome, err = m.bring(ctx, createArgs{a.Login, data.Str(a.Password), a.PasswordHashed, false})
		if err != nil || !slices.Contains([]string{"updated", "created", "unchanged"}, outcome) {
			return outcome, err
		}
	} else if there, err := m.exists(ctx, a.Login); err != nil || !there {
		return "absent", err
	}
	account, err := m.account(ctx, a.Login, true)
	if err != nil {
		return "", err
	}
	options := m.options(a, account)
	if len(options) == 0 {
		return outcome, nil
	}
	for _, word := range options {
		if strings.ContainsAny(word, "\n\r\x00") {
			return "", loader.Execution("%q has more than one line", word)
		}
	}
	argv := append([]string{"pdbedit", "--modify", "--user", a.Login}, options...)
	complaint, err := m.change(ctx, "", argv...)
	if err != nil || complaint != "" {
		return complaint, err
	}
	if outcome == "unchanged" {
		outcome = "updated"
	}
	return outcome, nil
}

// options returns the options of pdbedit that give an account the wanted fields.
func (m *module) options(a modifyArgs, account *data.Map) []string {
	var argv []string
	for _, one := range []struct {
		label, option string
		want          any
	}{
		{"domain", "--domain=", a.Domain},
		{"full name", "--fullname=", a.Fullname},
		{"account desc", "--account-desc=", a.AccountDesc},
		{"home directory", "--homedir=", a.Homedir},
		{"homedir drive", "--drive=", a.Drive},
		{"profile path", "--profile=", a.Profile},
		{"logon script", "--script=", a.Script},
	} {
		if have, ok := account.Get(one.label); ok && one.want != nil && have != data.Str(one.want) {
			argv = append(argv, one.option+data.Str(one.want))
		}
	}
	if a.AccountControl != nil {
		want, unknown := flags(data.Str(a.AccountControl))
		for _, flag := range unknown {
			m.env.Log.Warnf("pdbedit.modify - unknown %c flag for account_control, ignored", flag)
		}
		if have, _ := flags(account.Text("account flags")); !sameFlags(have, want) {
			argv = append(argv, "--account-control=["+want+"]")
		}
	}
	for _, sid := range []struct {
		label, option string
		want          any
	}{{"user sid", "-U", a.UserSID}, {"machine sid", "-M", a.MachineSID}} {
		have, ok := account.Get(sid.label)
		if ok && sid.want != nil && !strings.HasSuffix(data.Str(have), data.Str(sid.want)) {
			argv = append(argv, sid.option, data.Str(sid.want))
		}
	}
	if data.Truth(a.ResetLoginHours) {
		argv = append(argv, "--logon-hours-reset")
	}
	if data.Truth(a.ResetBadPasswordCount) {
		argv = append(argv, "--bad-password-count-reset")
	}
	return argv
}

// flags returns the flags of an account that can be set, and the other letters.
func flags(text string) (known string, unknown []rune) {
	if strings.HasPrefix(text, "[") && len(text) > 1 {
		text = text[1 : len(text)-1]
	}
	for _, flag := range strings.ToUpper(text) {
		if strings.ContainsRune("NDHLX", flag) {
			known += string(flag)
		} else {
			unknown = append(unknown, flag)
		}
	}
	return known, unknown
}

// sameFlags reports whether two texts have the same letters.
func sameFlags(a, b string) bool {
	return strings.Trim(a, b) == "" && strings.Trim(b, a) == ""
}
