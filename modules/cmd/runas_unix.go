//go:build unix

package cmd

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// becomeUser looks up the user. On macOS it wraps the command in su(1), as a program cannot get a
// user's session there in any other way.
func (m logins) becomeUser(ctx context.Context, j *job) error {
	if j.runas == "" {
		return nil
	}
	if runtime.GOOS == "darwin" {
		m.wrapInLogin(ctx, j)
		return nil
	}
	a, ok := m.users.account(ctx, j.runas)
	if !ok {
		return loader.Execution("User '%s' is not available", j.runas)
	}
	if int(a.uid) != os.Getuid() {
		j.who = &identity{uid: a.uid, gid: a.gid, groups: m.users.groups(ctx, a)}
	}
	return nil
}

// wrapInLogin wraps the command in su, which runs it in a login session of the user.
func (m logins) wrapInLogin(ctx context.Context, j *job) {
	line := data.Str(j.cmd)
	if words, ok := wordsOf(j.cmd); ok {
		quoted := data.Texts(words)
		for i, w := range quoted {
			quoted[i] = quoteWord(w)
		}
		line = strings.Join(quoted, " ")
	}
	line = "cd -- " + quoteWord(j.cwd) + " && { " + line + "\n }"
	if shell := m.users.loginShell(ctx, j.runas); strings.HasSuffix(shell, "bash") {
		line = shell + " -l -c " + quoteWord(line)
	}
	j.cmd = "su -l " + quoteWord(j.runas) + " -c " + quoteWord(line)
	j.runas = ""
}

// loginShell returns the shell of a user of macOS, where users are not in a file.
func (m users) loginShell(ctx context.Context, name string) string {
	if a, ok := m.account(ctx, name); ok && a.shell != "" {
		return a.shell
	}
	_, shell, _ := strings.Cut(m.ask(ctx, "dscl", ".", "-read", "/Users/"+name, "UserShell"), ":")
	return strings.TrimSpace(shell)
}

// becomeGroup looks up the group. The error for a missing group names the user, like the
// original's.
func (m logins) becomeGroup(ctx context.Context, j *job) error {
	if j.group == "" {
		return nil
	}
	if helper("sudo") == "" {
		return loader.Execution("group argument requires sudo but not found")
	}
	gid, ok := m.users.groupID(ctx, j.group)
	if !ok {
		return loader.Execution("Group '%s' is not available", orNone(j.runas))
	}
	if j.who == nil {
		if int(gid) == os.Getgid() {
			return nil
		}
		j.who = m.users.ownIdentity(ctx)
	}
	j.who.gid = gid
	return nil
}

func (m users) ownIdentity(ctx context.Context) *identity {
	who := &identity{uid: uint32(os.Getuid())}
	if a, ok := m.account(ctx, m.ownName()); ok {
		who.groups = m.groups(ctx, a)
	}
	return who
}

func orNone(s string) string {
	if s == "" {
		return "None"
	}
	return s
}

// loginEnvironment adds the environment of a login of the user; variables of the request override
// it. The environment is read between marks, as profiles often print.
func (m logins) loginEnvironment(ctx context.Context, j *job) error {
	if j.runas == "" && j.group == "" {
		return nil
	}
	mark := "<<<" + rand.Text() + ">>>"
	out, errs := m.login(ctx, j, "printf %s '"+mark+"'; env -0; printf %s '"+mark+"'")
	parts := strings.Split(out, mark)
	login := &data.Map{}
	switch len(parts) {
	case 1:
		m.env.Log.Errorf("Environment could not be retrieved for user '%s': stderr=%s stdout=%s",
			orNone(j.runas), j.secret(data.Repr(errs)), j.secret(data.Repr(out)))
	case 3:
		login = parseEnvironment(parts[1])
	default:
		return loader.Execution("Environment could not be retrieved for user '%s'", orNone(j.runas))
	}
	login.Update(j.env)
	name := j.runas
	if name == "" {
		name = m.users.ownName()
	}
	login.Set("USER", name)
	login.Set("HOME", m.users.home(ctx, j.runas))
	j.env = login
	return nil
}

// ownName returns the name of the daemon's user.
func (m users) ownName() string {
	if name := os.Getenv("LOGNAME"); name != "" && os.Getuid() != 0 {
		return name
	}
	return strings.TrimSpace(m.ask(context.Background(), "id", "-un"))
}

// login runs a shell script in a login of the user and returns its output.
func (m logins) login(ctx context.Context, j *job, script string) (stdout, stderr string) {
	words := m.loginWords(j, script)
	path := helper(words[0])
	if path == "" {
		return "", words[0] + " is not available"
	}
	c := exec.Command(path, words[1:]...)
	c.Env, c.Dir = pairs(m.environs.inherited()), "/"
	k, ctx, release := newCapture(ctx)
	defer release()
	k.take(c)
	err := m.env.Run(ctx, c)
	if k.over() {
		return "", errTooMuch.Error()
	}
	stdout, stderr = k.out.text.String(), k.errs.text.String()
	if err != nil && stderr == "" {
		stderr = err.Error()
	}
	return stdout, stderr
}

// loginWords returns the command for a login of the user.
func (m logins) loginWords(j *job, script string) []string {
	if j.group != "" {
		words := []string{"sudo"}
		if j.runas != "" {
			words = append(words, "-u", j.runas)
		}
		words = append(words, "-g", j.group)
		if j.shell != m.shell {
			return append(words, "-s", "--", j.shell, "-c", script)
		}
		return append(words, "-i", "--", "/bin/sh", "-c", script)
	}
	switch runtime.GOOS {
	case "freebsd":
		return []string{"su", "-", j.runas, "-c", j.shell + " -c " + quoteWord(script)}
	case "solaris", "illumos", "aix":
		return []string{"su", "-", j.runas, "-c", script}
	}
	return []string{"su", "-s", j.shell, "-", j.runas, "-c", script}
}

// parseEnvironment parses NAME=VALUE pairs separated by zero bytes.
func parseEnvironment(s string) *data.Map {
	env := &data.Map{}
	for pair := range strings.SplitSeq(s, "\x00") {
		if name, value, ok := strings.Cut(pair, "="); ok && name != "" {
			text, _ := decodeUTF8(value)
			env.Set(name, text)
		}
	}
	return env
}
