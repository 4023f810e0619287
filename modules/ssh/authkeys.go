package ssh

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// keyLine matches a line of a key file: its options, and the kind, key and comment.
var keyLine = regexp.MustCompile(`^(.*?)\s?((?:sk-)?(?:ssh-|ecds)[\w@.-]+\s.+)$`)

// A key is a line of an authorized_keys file.
type key struct {
	key, enc, comment, fingerprint string
	options                        []string
}

func (k key) line() string {
	line := k.enc + " " + k.key + " " + k.comment
	if len(k.options) > 0 {
		line = strings.Join(k.options, ",") + " " + line
	}
	return line + "\n"
}

func (k key) toMap() *data.Map {
	options := make([]any, len(k.options))
	for i, o := range k.options {
		options[i] = o
	}
	return data.NewMap("enc", k.enc, "comment", k.comment, "options", options,
		"fingerprint", k.fingerprint)
}

// parseKey parses a line. ok is true if the line has a kind and data in base64.
func parseKey(line string, method any) (k key, ok bool, err error) {
	line = strings.TrimSpace(line)
	found := keyLine.FindStringSubmatch(line)
	if strings.HasPrefix(line, "#") || found == nil {
		return key{}, false, nil
	}
	words := strings.Fields(found[2])
	if len(words) < 2 {
		return key{}, false, nil
	}
	k = key{key: words[1], enc: words[0], comment: strings.Join(words[2:], " ")}
	if found[1] != "" {
		k.options = strings.Split(found[1], ",")
	}
	k.fingerprint, err = fingerprint(k.key, method)
	return k, k.fingerprint != "" && err == nil, err
}

// keysIn returns the keys of a text. Of identical keys it returns the last.
func keysIn(text string, method any) ([]key, error) {
	var list []key
	at := map[string]int{}
	for line := range strings.Lines(text) {
		k, ok, err := parseKey(line, method)
		if err != nil {
			return nil, err
		}
		if i, again := at[k.key]; ok && again {
			list[i] = k
		} else if ok {
			at[k.key] = len(list)
			list = append(list, k)
		}
	}
	return list, nil
}

func find(list []key, text string) (key, bool) {
	for _, k := range list {
		if k.key == text {
			return k, true
		}
	}
	return key{}, false
}

// expand replaces %u in a path by the user's name and %h by the home directory (AuthorizedKeysFile
// of sshd_config(5)).
func expand(path string, o owner) (string, error) {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] != '%' {
			b.WriteByte(path[i])
			continue
		}
		i++
		if i == len(path) {
			return "", loader.Execution("AuthorizedKeysFile path: Last character can't be escape character")
		}
		switch path[i] {
		case '%':
			b.WriteByte('%')
		case 'u':
			b.WriteString(o.name)
		case 'h':
			b.WriteString(o.home)
		default:
			return "", loader.Execution("AuthorizedKeysFile path: unknown token character \"%%%c\"",
				path[i])
		}
	}
	return b.String(), nil
}

// authFile returns the path of a user's key file, in the form that other programs use, and the
// user.
func (m *module) authFile(
	ctx context.Context, user, config string,
) (file string, o owner, err error) {
	o, there, err := m.owner(ctx, user)
	if err != nil {
		return "", o, err
	}
	if !there {
		return "", o, loader.Execution("User '%s' does not exist", user)
	}
	file, err = expand(config, o)
	if err == nil && !filepath.IsAbs(file) {
		file = filepath.Join(o.home, file)
	}
	return file, o, err
}

// text returns the contents of a file, "" if it does not exist.
func (m *module) text(file string) (string, error) {
	text, err := os.ReadFile(m.path(file))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", loader.Execution("Problem reading ssh key file %s", file)
	}
	return string(text), nil
}

type authKeysArgs struct {
	User                any    `default:"None"`
	Config              string `default:"'.ssh/authorized_keys'"`
	FingerprintHashType any    `default:"None"`
}

// authKeys returns the authorized keys of users, of all users unless some are named.
//
// config : .ssh/authorized_keys
//
//	The file, relative to the home directory. %u stands for the user and %h for the home
//	directory.
//
// fingerprint_hash_type : sha256
//
//	The hash algorithm of fingerprints.
//
// CLI Example:
//
//	salt '*' ssh.auth_keys root
func (m *module) authKeys(ctx context.Context, a authKeysArgs) (any, error) {
	users, one, err := m.users(ctx, a.User)
	if err != nil {
		return nil, err
	}
	all := &data.Map{}
	for _, user := range users {
		file, _, err := m.authFile(ctx, data.Str(user), a.Config)
		if loader.KindOf(err) == loader.KindExecution {
			continue
		}
		if info, statErr := os.Stat(m.path(file)); statErr != nil || !info.Mode().IsRegular() {
			continue
		}
		text, err := m.text(file)
		if err != nil {
			return nil, err
		}
		keys, err := keysIn(text, a.FingerprintHashType)
		if err != nil {
			return nil, err
		}
		own := &data.Map{}
		for _, k := range keys {
			own.Set(k.key, k.toMap())
		}
		all.Set(user, own)
	}
	if one {
		if own, ok := all.Get(users[0]); ok {
			return own, nil
		}
		return &data.Map{}, nil
	}
	return all, nil
}

// users returns the named users, or all if none is named. one is true if a single user is named.
func (m *module) users(ctx context.Context, named any) (users []any, one bool, err error) {
	if !data.Truth(named) {
		users, err = loader.CallAs[[]any](ctx, m.env, "user.list_users", nil, nil)
		return users, false, err
	}
	if list, ok := named.([]any); ok {
		return list, false, nil
	}
	return []any{named}, true, nil
}

// current returns the keys in a user's file.
func (m *module) current(
	ctx context.Context, user, config string, method any,
) (keys []key, file string, o owner, err error) {
	if file, o, err = m.authFile(ctx, user, config); err != nil {
		return nil, "", o, err
	}
	text, err := m.text(file)
	if err == nil {
		keys, err = keysIn(text, method)
	}
	return keys, file, o, err
}

type checkKeyArgs struct {
	User, Key           string
	Enc                 any
	Comment             any
	Options             any
	Config              string `default:"'.ssh/authorized_keys'"`
	CacheKeys           any    `default:"None"`
	FingerprintHashType any    `default:"None"`
}

// wanted returns the key that the arguments describe.
func wanted(text string, enc, comment, options any) (key, error) {
	full, err := kind(enc)
	k := key{key: text, enc: full, comment: data.Str(comment)}
	list, ok := options.([]any)
	if !ok && data.Truth(options) {
		list = []any{options} // Salt puts commas between the letters of a text
	}
	for _, o := range list {
		k.options = append(k.options, data.Str(o))
	}
	return k, err
}

// checkKey returns what must be done to authorize a key for a user: add or update. It returns
// exists if there is nothing to do.
//
// CLI Example:
//
//	salt '*' ssh.check_key root '<key>' ssh-rsa 'ann@web1' '[]'
func (m *module) checkKey(ctx context.Context, a checkKeyArgs) (any, error) {
	k, err := wanted(a.Key, a.Enc, a.Comment, a.Options)
	if err != nil {
		return nil, err
	}
	if _, there, err := m.owner(ctx, a.User); err != nil || !there {
		return "add", err // a state may create the user later
	}
	keys, _, _, err := m.current(ctx, a.User, a.Config, a.FingerprintHashType)
	return k.status(keys), err
}

func (k key) status(keys []key) string {
	now, ok := find(keys, k.key)
	switch {
	case !ok:
		return "add"
	case now.line() != k.line():
		return "update"
	}
	return "exists"
}

type checkKeyFileArgs struct {
	User                string
	Source              any
	Config              string `default:"'.ssh/authorized_keys'"`
	Saltenv             any    `default:"'base'"`
	FingerprintHashType any    `default:"None"`
}

// checkKeyFile returns the result of ssh.check_key for each key of a file.
//
// CLI Example:
//
//	salt '*' ssh.check_key_file root salt://ssh/keyfile
func (m *module) checkKeyFile(ctx context.Context, a checkKeyFileArgs) (any, error) {
	keys, err := m.source(ctx, a)
	ret := &data.Map{}
	for _, k := range keys {
		status, err := m.checkKey(ctx,
			checkKeyArgs{User: a.User, Key: k.key, Enc: k.enc, Comment: k.comment,
				Options: k.toMap().Value("options"), Config: a.Config,
				FingerprintHashType: a.FingerprintHashType})
		if err != nil {
			return nil, err
		}
		ret.Set(k.key, status)
	}
	return ret, err
}

// source returns the keys of a file on the file server. If it has none, it stores an error message
// for the state.
func (m *module) source(ctx context.Context, a checkKeyFileArgs) ([]key, error) {
	path, err := calls.CacheFile(ctx, m.env, calls.Source{Path: a.Source, SaltEnv: a.Saltenv})
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil //nolint:nilerr // there is no such file
	}
	keys, err := keysIn(string(text), a.FingerprintHashType)
	if err == nil && len(keys) == 0 {
		output := "No keys detected in " + data.Str(a.Source) + ". Is file properly formatted?"
		m.env.Log.Error(output)
		loader.ContextOf(ctx).Set("ssh_auth.error", output)
	}
	return keys, err
}
