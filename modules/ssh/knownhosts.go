package ssh

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// failed returns an error in the form that Salt's functions for known hosts use.
func failed(format string, args ...any) *data.Map {
	return data.NewMap("status", "error", "error", fmt.Sprintf(format, args...))
}

// A place is a known_hosts file of a user or of the system.
type place struct {
	file string // path on this system
	who  owner
}

// knownFile returns the known_hosts file. refusal is the result of the call if the file cannot be
// determined.
func (m *module) knownFile(
	ctx context.Context, user, config any,
) (p place, refusal *data.Map, err error) {
	file := data.Str(config)
	switch {
	case !data.Truth(config) && data.Truth(user):
		file = ".ssh/known_hosts"
	case !data.Truth(config):
		file = "/etc/ssh/ssh_known_hosts"
	}
	there := false
	if data.Truth(user) {
		if p.who, there, err = m.owner(ctx, data.Str(user)); err != nil {
			return p, nil, err
		}
	}
	if !filepath.IsAbs(file) {
		switch {
		case !data.Truth(user):
			return p, failed("Cannot determine absolute path to file."), nil
		case !there:
			return p, failed("User %s does not exist", data.Str(user)), nil
		}
		file = filepath.Join(p.who.home, file)
	}
	if !there {
		p.who = owner{uid: -1, gid: -1}
	}
	p.file = m.path(file)
	return p, nil, nil
}

// withPort returns a host in the form that known_hosts uses.
func withPort(host string, port any) string {
	if n, err := loader.Int(port); !data.Truth(port) || err == nil && n == 22 {
		return host
	}
	return "[" + host + "]:" + data.Str(port)
}

// entries parses the output of ssh-keygen and ssh-keyscan.
func entries(text string, method any) ([]any, error) {
	var list []any
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) != 3 || strings.HasPrefix(line, "#") {
			continue
		}
		print, err := fingerprint(words[2], method)
		if err != nil {
			return nil, err
		}
		if print != "" {
			list = append(list, data.NewMap("hostname", words[0], "key", words[2], "enc", words[1],
				"fingerprint", print))
		}
	}
	return list, nil
}

// run runs a program without a shell and returns its output.
func (m *module) run(ctx context.Context, quiet bool, argv ...string) (string, error) {
	return calls.RunOutput(ctx, m.env, calls.Run{Argv: argv, IgnoreRetcode: quiet})
}

func orNone(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list
}

// field returns one field of all entries.
func field(list []any, name string) []any {
	out := []any{}
	for _, e := range list {
		if e, ok := e.(*data.Map); ok {
			out = append(out, e.Value(name))
		}
	}
	return out
}

// known returns the entries of a host in a known_hosts file, and the output of ssh-keygen.
func (m *module) known(
	ctx context.Context, p place, host string, method any,
) (list []any, output string, err error) {
	if _, err := os.Stat(p.file); errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	} else if err != nil {
		return nil, "", loader.Execution("read known hosts: %w", err)
	}
	if output, err = m.run(ctx, true, "ssh-keygen", "-F", host, "-f", p.file); err == nil {
		list, err = entries(output, method)
	}
	return list, output, err
}

type getKnownArgs struct {
	User                any
	Hostname            string
	Config              any `default:"None"`
	Port                any `default:"None"`
	FingerprintHashType any `default:"None"`
}

// getKnownHostEntries returns the keys of a host in a user's known_hosts file, None if there are
// none.
//
// CLI Example:
//
//	salt '*' ssh.get_known_host_entries root web1
func (m *module) getKnownHostEntries(ctx context.Context, a getKnownArgs) (any, error) {
	p, refusal, err := m.knownFile(ctx, a.User, a.Config)
	if err != nil || refusal != nil {
		return refusal, err
	}
	list, _, err := m.known(ctx, p, withPort(a.Hostname, a.Port), a.FingerprintHashType)
	return orNone(list), err
}

type recvArgs struct {
	Hostname            string
	Enc                 any `default:"None"`
	Port                any `default:"None"`
	HashKnownHosts      any `default:"True"`
	Timeout             any `default:"5"`
	FingerprintHashType any `default:"None"`
}

// recvKnownHostEntries fetches the keys of a host from the host itself. It returns None if the host
// sends none.
//
// enc : None
//
//	The kind of key to request, such as ed25519.
//
// timeout : 5
//
//	How long to wait, in seconds.
//
// CLI Example:
//
//	salt '*' ssh.recv_known_host_entries web1 enc=ed25519 port=22
func (m *module) recvKnownHostEntries(ctx context.Context, a recvArgs) (any, error) {
	list, err := m.receive(ctx, a)
	return orNone(list), err
}

func (m *module) receive(ctx context.Context, a recvArgs) ([]any, error) {
	argv := []string{"ssh-keyscan"}
	if data.Truth(a.Port) {
		argv = append(argv, "-p", data.Str(a.Port))
	}
	if data.Truth(a.Enc) {
		argv = append(argv, "-t", data.Str(a.Enc))
	}
	if data.Truth(a.HashKnownHosts) {
		argv = append(argv, "-H")
	}
	argv = append(argv, "-T", data.Str(a.Timeout), "--", data.Str(a.Hostname))
	for range 5 {
		output, err := m.run(ctx, false, argv...)
		if err != nil {
			return nil, err
		}
		if output != "" {
			return entries(output, a.FingerprintHashType)
		}
	}
	return nil, nil
}

type checkKnownArgs struct {
	User                any `default:"None"`
	Hostname            any `default:"None"`
	Key                 any `default:"None"`
	Fingerprint         any `default:"None"`
	Config              any `default:"None"`
	Port                any `default:"None"`
	FingerprintHashType any `default:"None"`
}

// checkKnownHost returns what must be done so that a user knows a host by a key or a fingerprint:
// add or update. It returns exists if there is nothing to do.
//
// CLI Example:
//
//	salt '*' ssh.check_known_host root web1 key='AAAA...FAaQ=='
func (m *module) checkKnownHost(ctx context.Context, a checkKnownArgs) (any, error) {
	if !data.Truth(a.Hostname) {
		return failed("hostname argument required"), nil
	}
	p, refusal, err := m.knownFile(ctx, a.User, a.Config)
	if err != nil || refusal != nil {
		return refusal, err
	}
	list, _, err := m.known(ctx, p, withPort(data.Str(a.Hostname), a.Port), a.FingerprintHashType)
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return "add", nil
	case data.Truth(a.Key) && !slices.Contains(field(list, "key"), a.Key),
		!data.Truth(a.Key) && data.Truth(a.Fingerprint) &&
			!slices.Contains(field(list, "fingerprint"), a.Fingerprint):
		return "update", nil
	}
	return "exists", nil
}

type rmKnownArgs struct {
	User     any `default:"None"`
	Hostname any `default:"None"`
	Config   any `default:"None"`
	Port     any `default:"None"`
}

// rmKnownHost removes a host from a user's known_hosts file and returns the output of ssh-keygen.
//
// CLI Example:
//
//	salt '*' ssh.rm_known_host root web1
func (m *module) rmKnownHost(ctx context.Context, a rmKnownArgs) (any, error) {
	if !data.Truth(a.Hostname) {
		return failed("hostname argument required"), nil
	}
	return m.rewrite(ctx, a.User, a.Config, "removed", "-R", withPort(data.Str(a.Hostname), a.Port))
}

// rewrite makes ssh-keygen rewrite a known_hosts file. The mode and the owner stay.
func (m *module) rewrite(
	ctx context.Context, user, config any, status string, words ...string,
) (any, error) {
	p, refusal, err := m.knownFile(ctx, user, config)
	if err != nil || refusal != nil {
		return refusal, err
	}
	info, err := os.Stat(p.file)
	if err != nil || !info.Mode().IsRegular() {
		return failed("Known hosts file %s does not exist", p.file), nil //nolint:nilerr // Salt's answer
	}
	file, err := p.who.place(m.path(p.who.home), p.file)
	if err != nil {
		return nil, loader.Execution("write known hosts: %w", err)
	}
	output, err := m.run(ctx, false,
		append(append([]string{"ssh-keygen"}, words...), "-f", file)...)
	if err == nil {
		err = p.who.keep(file, info.Mode().Perm())
	}
	return data.NewMap("status", status, "comment", output), err
}

// keep restores the owner and the mode of a file. It fails if a link out of its directory has
// replaced the file.
func (o owner) keep(file string, mode fs.FileMode) error {
	dir, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := dir.Open(filepath.Base(file))
	if err != nil {
		return err
	}
	defer f.Close()
	return errors.Join(o.ownFile(f), f.Chmod(mode))
}

type hashKnownArgs struct {
	User   any `default:"None"`
	Config any `default:"None"`
}

// hashKnownHosts hashes the names in a known_hosts file and returns the output of ssh-keygen.
//
// CLI Example:
//
//	salt '*' ssh.hash_known_hosts root
func (m *module) hashKnownHosts(ctx context.Context, a hashKnownArgs) (any, error) {
	return m.rewrite(ctx, a.User, a.Config, "updated", "-H")
}

type setKnownArgs struct {
	User                any `default:"None"`
	Hostname            any `default:"None"`
	Fingerprint         any `default:"None"`
	Key                 any `default:"None"`
	Port                any `default:"None"`
	Enc                 any `default:"None"`
	Config              any `default:"None"`
	HashKnownHosts      any `default:"True"`
	Timeout             any `default:"5"`
	FingerprintHashType any `default:"None"`
}

// setKnownHost adds a host to a user's known_hosts file. It uses the given key, or else the keys
// that the host sends. If a fingerprint is given, one of these keys must match it.
//
// CLI Example:
//
//	salt '*' ssh.set_known_host root web1 fingerprint='xx:xx:..:xx' enc='ssh-rsa'
func (m *module) setKnownHost(ctx context.Context, a setKnownArgs) (any, error) {
	host := withPort(data.Str(a.Hostname), a.Port)
	switch {
	case !data.Truth(a.Hostname):
		return failed("hostname argument required"), nil
	case a.Port != nil && host != a.Hostname && data.Truth(a.HashKnownHosts):
		return failed("argument port can not be used in conjunction with argument hash_known_hosts"), nil
	}
	p, refusal, err := m.knownFile(ctx, a.User, a.Config)
	if err != nil || refusal != nil {
		return refusal, err
	}
	stored, output, err := m.known(ctx, p, host, a.FingerprintHashType)
	if err != nil {
		return nil, err
	}
	keys := field(stored, "key")
	exists := data.NewMap("status", "exists", "keys", keys)
	given := data.Truth(a.Key) || data.Truth(a.Fingerprint)
	if len(stored) > 0 && given &&
		(!data.Truth(a.Fingerprint) ||
			slices.Contains(field(stored, "fingerprint"), a.Fingerprint)) &&
		(!data.Truth(a.Key) || slices.Contains(keys, a.Key)) {
		return exists, nil
	}
	fresh := []any{data.NewMap("hostname", a.Hostname, "enc", a.Enc, "key", a.Key)}
	if !data.Truth(a.Key) {
		fresh, err = m.receive(ctx, recvArgs{data.Str(a.Hostname), a.Enc, a.Port, a.HashKnownHosts,
			a.Timeout, a.FingerprintHashType})
		switch {
		case err != nil:
			return nil, err
		case len(fresh) == 0:
			return failed("Unable to receive remote host keys"), nil
		case data.Truth(a.Fingerprint) &&
			!slices.Contains(field(fresh, "fingerprint"), a.Fingerprint):
			return failed("Remote host public keys found but none of their fingerprints match the one you have provided"), nil
		case !given && slices.ContainsFunc(field(fresh, "key"),
			func(k any) bool { return slices.Contains(keys, k) }):
			return exists, nil
		}
	}
	if err := m.storeKeys(a, p, output, host, fresh); err != nil {
		return nil, err
	}
	if data.Truth(a.Key) && data.Truth(a.HashKnownHosts) {
		if _, err := m.hashKnownHosts(ctx, hashKnownArgs{a.User, a.Config}); err != nil {
			return nil, err
		}
	}
	return data.NewMap("status", "updated", "old", orNone(stored), "new", fresh), nil
}

// storeKeys writes keys of a host into a known_hosts file. They replace the host's keys of the same
// kinds.
func (m *module) storeKeys(a setKnownArgs, p place, output, host string, fresh []any) error {
	old, err := os.ReadFile(p.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return loader.Execution("read known hosts: %w", err)
	}
	gone := numbers(output, field(fresh, "enc"))
	var b strings.Builder
	for i, line := range slices.Collect(strings.Lines(string(old))) {
		if !slices.Contains(gone, i+1) {
			b.WriteString(strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	for _, e := range fresh {
		e := e.(*data.Map)
		name := e.Text("hostname")
		if !data.Truth(a.HashKnownHosts) && !strings.Contains(name, ":") {
			name = host
		}
		fmt.Fprintf(&b, "%s %s %s\n", name, data.Str(e.Value("enc")), e.Text("key"))
	}
	if err := m.put(p.who, p.file, b.String()); err != nil {
		return loader.Execution("Couldn't append to known hosts file: '%w'", err)
	}
	return nil
}

// numbers returns the numbers of the lines that ssh-keygen found and whose key is of one of these
// kinds.
func numbers(output string, kinds []any) (list []int) {
	number := 0
	for line := range strings.Lines(output) {
		words := strings.Fields(line)
		switch {
		case len(words) > 1 && words[0] == "#":
			number, _ = strconv.Atoi(words[len(words)-1])
		case len(words) > 2 && number > 0 && slices.Contains(kinds, any(words[len(words)-2])):
			list = append(list, number)
		}
	}
	return list
}
