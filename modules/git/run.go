package git

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// A run has the settings for running the program.
type run struct {
	cwd            string
	user, password any
	identity       any  // SSH keys
	quiet          bool // its failure does not fail the job
	soft           bool // its failure is not an error
	merged         bool // standard error goes to standard output
	saltenv        any
	encoding       any
	logins         []login
}

// A login is a URL that git must use instead of the one without user and password.
type login struct{ plain, full string }

func number(s string) any {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	return s
}

// redact hides users and passwords in the URLs of a text.
func redact(text string) string {
	return regexp.MustCompile(`(?i)(https?)://.*@`).ReplaceAllString(text, "$1://<redacted>@")
}

// authenticated returns a URL with user and password, or nil if there are none (salt/utils/url.py,
// add_http_basic_auth).
func authenticated(url string, user, password any) (*login, error) {
	if user == nil && password == nil {
		return nil, nil
	}
	rest, ok := strings.CutPrefix(url, "https://")
	if !ok {
		return nil, loader.Invocation("Basic Auth only supported for HTTPS")
	}
	who := data.Str(user)
	if password != nil {
		who += ":" + data.Str(password)
	}
	return &login{url, "https://" + who + "@" + rest}, nil
}

// environment returns the environment that passes users and passwords to the program: configuration
// that is not on a command line.
func (r run) environment() *data.Map {
	env := data.NewMap()
	if len(r.logins) > 0 {
		env.Set("GIT_CONFIG_COUNT", strconv.Itoa(len(r.logins)))
	}
	for i, l := range r.logins {
		env.Set("GIT_CONFIG_KEY_"+strconv.Itoa(i), "url."+l.full+".insteadOf")
		env.Set("GIT_CONFIG_VALUE_"+strconv.Itoa(i), l.plain)
	}
	return env
}

// git runs git with these arguments.
func (m *module) git(ctx context.Context, r run, args []string) (calls.Ran, error) {
	if data.Truth(r.identity) {
		return m.withKeys(ctx, r, args)
	}
	result, err := m.execute(ctx, r, args, r.environment())
	if err != nil || result.Retcode == 0 || r.soft {
		return result, err
	}
	text := "Command '" + redact(strings.Join(append([]string{"git"}, args...), " ")) + "' failed"
	if output := r.complaint(result); output != "" {
		text += ": " + output
	}
	return calls.Ran{}, loader.Execution("%s", text)
}

// complaint returns the program's error output.
func (r run) complaint(result calls.Ran) string {
	if r.merged {
		return redact(result.Stdout)
	}
	return redact(result.Stderr)
}

func (m *module) execute(
	ctx context.Context, r run, args []string, env *data.Map,
) (calls.Ran, error) {
	return calls.RunAll(ctx, m.env, calls.Run{
		Argv: append([]string{"git"}, args...), Dir: r.cwd, As: calls.Text(r.user),
		Password: calls.Text(r.password), Env: env, IgnoreRetcode: r.quiet, MergeStderr: r.merged,
		Encoding: calls.Text(r.encoding),
	})
}

// sshCommand makes git call ssh with a key; the shell started by git substitutes the key.
const sshCommand = `ssh -oStrictHostKeyChecking=no -oPasswordAuthentication=no ` +
	`-oKbdInteractiveAuthentication=no -oChallengeResponseAuthentication=no -i "$GIT_IDENTITY"`

// withKeys runs git with one key after the other until one is accepted.
func (m *module) withKeys(ctx context.Context, r run, args []string) (calls.Ran, error) {
	var errs, missing []string
	var last *calls.Ran
	keys, ok := r.identity.([]any)
	if !ok {
		keys = []any{r.identity}
	}
	for _, key := range data.Texts(keys) {
		file, drop, err := m.key(ctx, r, key)
		if err != nil {
			return calls.Ran{}, err
		}
		if file == "" {
			if !strings.Contains(key, "salt://") {
				missing = append(missing, key)
			}
			continue
		}
		result, output, err := m.withKey(ctx, r, args, file)
		drop()
		if err != nil || output == "" && result.Retcode == 0 {
			return result, err
		}
		if last = &result; output != "" {
			errs = append(errs, output)
		}
	}
	if r.soft && last != nil {
		return *last, nil
	}
	text := "Unable to authenticate using identity file:\n\n" + strings.Join(errs, "\n")
	if missing != nil {
		if errs != nil {
			text += "\n\n"
		}
		text += "The following identity file(s) were not found: " + strings.Join(missing, ", ")
	}
	return calls.Ran{}, loader.Execution("%s", text)
}

// withKey runs git with one key, and returns its error output if it fails.
func (m *module) withKey(
	ctx context.Context, r run, args []string, file string,
) (calls.Ran, string, error) {
	if refused, err := m.unusable(file); refused || err != nil {
		return calls.Ran{}, "Identity file " + file +
			" is passphrase-protected and cannot be used in a non-interactive command. Using salt-call from the " +
			"minion will allow a passphrase-protected key to be used.", err
	}
	env := r.environment()
	env.Set("GIT_IDENTITY", file)
	env.Set("GIT_SSH_COMMAND", sshCommand)
	result, err := m.execute(ctx, r, args, env)
	if err != nil || result.Retcode == 0 {
		return result, "", err
	}
	return result, r.complaint(result), nil
}

// key returns the file of a key, "" if there is none, and a function that removes it if it is a
// copy.
func (m *module) key(ctx context.Context, r run, key string) (file string, drop func(), err error) {
	keep := func() {}
	if !strings.Contains(key, "salt://") {
		if info, err := os.Stat(key); err != nil || !info.Mode().IsRegular() {
			m.env.Log.Errorf("identity %s does not exist.", key)
			return "", keep, nil
		}
		return key, keep, nil
	}
	f, err := os.CreateTemp("", "__salt.tmp.")
	if err != nil {
		return "", keep, err
	}
	f.Close()
	drop = func() { os.Remove(f.Name()) }
	copied, err := calls.GetFile(ctx, m.env, key, f.Name(), r.saltenv)
	if copied != "" && data.Truth(r.user) {
		err = calls.Chown(ctx, m.env, f.Name(), r.user, nil)
	}
	if err != nil || copied == "" {
		drop()
		m.env.Log.Errorf("identity %s does not exist.", key)
		return "", keep, err
	}
	return f.Name(), drop, nil
}

// unusable reports whether a key cannot be used because it needs a passphrase and nobody can enter
// it.
func (m *module) unusable(file string) (bool, error) {
	if strings.Contains(data.Str(m.env.Option("__cli")), "salt-call") {
		return false, nil
	}
	return hasPassphrase(file)
}

// hasPassphrase reports whether an SSH key has a passphrase. A file that is not a key is an error.
// It corresponds to key_is_encrypted in salt/utils/ssh.py, which does not recognize this for keys
// in OpenSSH's own format.
func hasPassphrase(file string) (bool, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return false, fmt.Errorf("read the SSH key: %w", err)
	}
	if !regexp.MustCompile(`BEGIN (?:\w+\s)*PRIVATE KEY`).Match(src) {
		return false, loader.Execution("%s is not a private key", file)
	}
	if bytes.Contains(src, []byte("ENCRYPTED")) {
		return true, nil
	}
	block, _ := pem.Decode(src)
	own := block != nil && block.Type == "OPENSSH PRIVATE KEY"
	return own && !bytes.HasPrefix(block.Bytes,
		[]byte("openssh-key-v1\x00\x00\x00\x00\x04none")), nil
}

// storeLogin replaces the plain URL of a remote in a repository's configuration by the one with
// user and password, for the variable url or pushurl. On git's command line the password would be
// visible.
func (m *module) storeLogin(ctx context.Context, r run, remote, variable string, l *login) error {
	if l == nil {
		return nil
	}
	r.merged, r.identity, r.logins = false, nil, nil
	result, err := m.git(ctx, r, []string{"rev-parse", "--git-common-dir"})
	if err != nil {
		return err
	}
	dir := result.Stdout
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(r.cwd, dir)
	}
	file := filepath.Join(dir, "config")
	src, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the configuration of %s: %w", r.cwd, err)
	}
	text, found := setURL(string(src), remote, variable, *l)
	if !found {
		return loader.Execution("the configuration %s has no %s of remote %s", file,
			variable, remote)
	}
	return atomicfile.Write(file, []byte(text), atomicfile.Options{Keep: true, Own: hide})
}

// hide makes a file with a password readable only by its owner, and by its group if that may write
// to it, as in a shared repository.
func hide(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	mode := info.Mode().Perm() &^ 0o007
	if mode&0o020 == 0 {
		mode &^= 0o070
	}
	return f.Chmod(mode)
}

// setURL replaces the plain URL of a remote in the text of a configuration, and reports whether it
// found one.
func setURL(src, remote, variable string, l login) (string, bool) {
	var b strings.Builder
	inside, found := false, false
	for line := range strings.Lines(src) {
		bare := strings.TrimSpace(line)
		if strings.HasPrefix(bare, "[") {
			inside = bare == `[remote "`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(remote)+
				`"]`
		}
		key, value, ok := strings.Cut(bare, "=")
		if inside && !found && ok && strings.TrimSpace(key) == variable &&
			strings.Trim(strings.TrimSpace(value), `"`) == l.plain {
			line, found = "\t"+variable+" = \""+
				strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(l.full)+"\"\n", true
		}
		b.WriteString(line)
	}
	return b.String(), found
}
