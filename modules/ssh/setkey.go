package ssh

import (
	"context"

	"os"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type setAuthKeyArgs struct {
	User, Key           string
	Enc                 any    `default:"'ssh-rsa'"`
	Comment             any    `default:"''"`
	Options             any    `default:"None"`
	Config              string `default:"'.ssh/authorized_keys'"`
	CacheKeys           any    `default:"None"`
	FingerprintHashType any    `default:"None"`
}

// setAuthKey authorizes a key for a user. It returns new, replace, no change, or an error text.
//
// key
//
//	The key itself, without its kind and comment.
//
// enc : ssh-rsa
//
//	The kind of the key, such as ed25519.
//
// options : None
//
//	A list of options to put before the key.
//
// CLI Example:
//
//	salt '*' ssh.set_auth_key root '<key>' enc='ed25519'
func (m *module) setAuthKey(ctx context.Context, a setAuthKeyArgs) (any, error) {
	if len(strings.Fields(a.Key)) > 1 {
		return "invalid", nil
	}
	k, err := wanted(a.Key, a.Enc, a.Comment, a.Options)
	if err != nil {
		return nil, err
	}
	if _, there, err := m.owner(ctx, a.User); err != nil || !there {
		return "fail", err
	}
	if print, err := fingerprint(a.Key, a.FingerprintHashType); err != nil || print == "" {
		return "Invalid public key", err
	}
	if strings.ContainsAny(k.line()[:len(k.line())-1], "\r\n") {
		return "invalid", nil
	}
	keys, file, o, err := m.current(ctx, a.User, a.Config, a.FingerprintHashType)
	if err != nil {
		return nil, err
	}
	text, err := m.text(file)
	if err != nil {
		return nil, err
	}
	switch k.status(keys) {
	case "exists":
		return "no change", nil
	case "update":
		return "replace", m.save(o, file, replaced(text, k, a.FingerprintHashType))
	}
	if info, err := os.Stat(m.path(o.home)); strings.HasPrefix(file, o.home) &&
		(err != nil || !info.IsDir()) {
		return "fail", nil
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return "new", m.save(o, file, text+k.line())
}

// save writes a key file.
func (m *module) save(o owner, file, text string) error {
	if err := m.put(o, m.path(file), text); err != nil {
		return loader.Execution("Could not write to key file: %w", err)
	}
	return nil
}

// replaced returns a text with the line of a key replaced, and without empty lines.
func replaced(text string, k key, method any) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if now, ok, err := parseKey(line, method); err == nil && ok && now.key == k.key {
			b.WriteString(k.line())
		} else {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// without returns a text without the lines of a key, and without empty lines.
func without(text, gone string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if now, ok, err := parseKey(line, nil); line != "" &&
			!(err == nil && ok && now.key == gone) {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

type rmAuthKeyArgs struct {
	User, Key           string
	Config              string `default:"'.ssh/authorized_keys'"`
	FingerprintHashType any    `default:"None"`
}

// rmAuthKey removes an authorized key of a user and reports whether it was there.
//
// CLI Example:
//
//	salt '*' ssh.rm_auth_key root '<key>'
func (m *module) rmAuthKey(ctx context.Context, a rmAuthKeyArgs) (any, error) {
	if _, there, err := m.owner(ctx, a.User); err != nil || !there {
		return "Key not present", err
	}
	keys, file, o, err := m.current(ctx, a.User, a.Config, a.FingerprintHashType)
	if err != nil {
		return nil, err
	}
	if _, ok := find(keys, a.Key); !ok {
		return "Key not present", nil
	}
	text, err := m.text(file)
	if err == nil {
		err = m.save(o, file, without(text, a.Key))
	}
	if err != nil {
		m.env.Log.Warnf("Could not read/write key file: %v", err)
		return "Key not removed", nil
	}
	return "Key removed", nil
}

// each calls do for each key of a source and returns the results.
func (m *module) each(
	ctx context.Context, a checkKeyFileArgs, do func(key) (any, error),
) (answers []any, err error) {
	path, err := calls.CacheFile(ctx, m.env, calls.Source{Path: a.Source, SaltEnv: a.Saltenv})
	if err != nil {
		return nil, err
	}
	if path == "" {
		return nil, loader.Execution("Failed to pull key file from salt file server")
	}
	keys, err := m.source(ctx, a)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		answer, err := do(k)
		if err != nil {
			return nil, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// firstOf returns the first text of order that is among the answers, or else otherwise.
func firstOf(answers []any, order []string, otherwise string) string {
	for _, want := range order {
		for _, a := range answers {
			if data.Str(a) == want {
				return want
			}
		}
	}
	return otherwise
}

// setAuthKeyFromFile authorizes the keys of a file for a user. It returns the result of
// ssh.set_auth_key. For several keys it returns the first of fail, replace, new and no change that
// occurs.
//
// CLI Example:
//
//	salt '*' ssh.set_auth_key_from_file root salt://ssh_keys/ann.id_rsa.pub
func (m *module) setAuthKeyFromFile(ctx context.Context, a checkKeyFileArgs) (any, error) {
	answers, err := m.each(ctx, a, func(k key) (any, error) {
		return m.setAuthKey(ctx, setAuthKeyArgs{User: a.User, Key: k.key, Enc: k.enc,
			Comment: k.comment, Options: k.toMap().Value("options"),
			Config: a.Config, FingerprintHashType: a.FingerprintHashType})
	})
	if err != nil || answers == nil {
		return "fail", err
	}
	return firstOf(answers, []string{"fail", "replace", "new"}, "no change"), nil
}

// rmAuthKeyFromFile removes the keys of a file from the authorized keys of a user. It returns the
// result of ssh.rm_auth_key.
//
// CLI Example:
//
//	salt '*' ssh.rm_auth_key_from_file root salt://ssh_keys/ann.id_rsa.pub
func (m *module) rmAuthKeyFromFile(ctx context.Context, a checkKeyFileArgs) (any, error) {
	answers, err := m.each(ctx, a, func(k key) (any, error) {
		return m.rmAuthKey(ctx, rmAuthKeyArgs{a.User, k.key, a.Config, a.FingerprintHashType})
	})
	if err != nil || answers == nil {
		return "fail", err
	}
	return firstOf(answers, []string{"Key not removed", "Key removed"}, "Key not present"), nil
}
