//go:build linux

package shadow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/accounts"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type setPasswordArgs struct {
	Name       string
	Password   string
	UseUsermod any `default:"False"`
	Root       any `default:"None"`
}

// setPassword sets the password of a user, given as a hash, and reports whether the entry then has
// that hash.
//
// use_usermod : False
//
//	True: let a system program write the password, which also supports stores other than
//	/etc/shadow. The program is chpasswd, because usermod would show the hash to all users.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' shadow.set_password root '$1$UYCIxa628.9qXjpQCjM4a..'
func (m *module) setPassword(ctx context.Context, a setPasswordArgs) (any, error) {
	known, err := m.known(a.Name, a.Root)
	switch {
	case err != nil:
		return nil, err
	case !known:
		m.env.Log.Warnf("user %s does not exist, cannot set password", a.Name)
		return false, nil
	case strings.ContainsAny(a.Password, ":\n\x00"):
		return nil, loader.Execution("set the password of %s: the hash contains a colon or a line break", a.Name)
	}
	if truthy(a.UseUsermod) {
		err = m.passHash(ctx, a)
	} else {
		err = m.write(ctx, a)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return data.NewMap(), nil
	}
	if err != nil {
		return nil, err
	}
	e, err := m.entry(a.Name, a.Root)
	return err == nil && e.password == a.Password, err
}

// truthy reports whether a value is true, also as a word (is_true of salt/utils/data.py).
func truthy(v any) bool {
	if text, ok := v.(string); ok {
		return strings.EqualFold(text, "true")
	}
	return data.Truth(v)
}

// known reports whether a user exists.
func (m *module) known(name string, root any) (bool, error) {
	users, err := accounts.Users(m.at(root, ""))
	if err != nil {
		return false, loader.Execution("%w", err)
	}
	return slices.ContainsFunc(users, func(u accounts.User) bool { return u.Name == name }), nil
}

// passHash passes the hash to the system's program through standard input.
func (m *module) passHash(ctx context.Context, a setPasswordArgs) error {
	argv := []string{"chpasswd", "-e"}
	if root := m.at(a.Root, ""); root != "/" {
		argv = append(argv, "-R", root)
	}
	_, err := calls.RunOutput(ctx, m.env,
		calls.Run{Argv: argv, Stdin: a.Name + ":" + a.Password, Log: "quiet"})
	return err
}

// write stores the hash in the shadow file.
func (m *module) write(ctx context.Context, a setPasswordArgs) error {
	file := m.at(a.Root, "/etc/shadow")
	if m.env.GrainsNow().Text("os") == "ALT" { // tcb(5) has one file per user
		file = m.at(a.Root, "/etc/tcb/"+a.Name+"/shadow")
	}
	unlock, err := lock(ctx, m.at(a.Root, "/etc/.pwd.lock"))
	if err != nil {
		return loader.Execution("set the password of %s: %w", a.Name, err)
	}
	defer unlock()
	text, err := os.ReadFile(file)
	if err == nil {
		today := time.Now().Unix() / (24 * 60 * 60)
		err = atomicfile.Write(file, []byte(withPassword(string(text), a.Name, a.Password, today)),
			atomicfile.Options{Keep: true, Sync: true, SyncDir: true})
	}
	if err != nil {
		return loader.Execution("set the password of %s: %w", a.Name, err)
	}
	return nil
}

// withPassword returns the text of a shadow file with a new hash for a user, changed today. If the
// user's line has too few or too many fields, it gets nine.
func withPassword(text, name, hash string, today int64) string {
	var b strings.Builder
	found := false
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if f[0] != name {
			b.WriteString(line)
			continue
		}
		for len(f) < 9 {
			f = append(f, "")
		}
		found, f[1], f[2] = true, hash, fmt.Sprint(today)
		b.WriteString(strings.Join(f[:9], ":") + "\n")
	}
	if !found {
		if out := b.String(); out != "" && !strings.HasSuffix(out, "\n") {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s:%s:%d::::::\n", name, hash, today)
	}
	return b.String()
}

// lockTime is how long to wait for the lock; lckpwdf(3) uses the same.
const lockTime = 15 * time.Second

// lock acquires the lock under which programs change users and passwords (lckpwdf(3)). The caller
// must call unlock.
func lock(ctx context.Context, file string) (unlock func(), err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	retry := time.NewTicker(50 * time.Millisecond)
	defer retry.Stop()
	for {
		err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
		if err == nil {
			return func() { _ = f.Close() }, nil // releases the lock
		}
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", file, err)
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: another program holds it: %w", file,
				context.Cause(ctx))
		case <-retry.C:
		}
	}
}
