package aptsources

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

type keysArgs struct {
	Aptkey any `default:"True"`
	Keydir any `default:"None"`
}

// getRepoKeys returns the keys that sources are verified with, by ID.
//
// aptkey
//
//	False: the keys in files of the directory keydir instead of those of apt-key. This is always so
//	if there is no apt-key.
//
// keydir
//
//	Default: /etc/apt/keyrings.
//
// CLI Example:
//
//	salt '*' pkg.get_repo_keys
func (m *module) getRepoKeys(ctx context.Context, a keysArgs) (any, error) {
	aptKey, err := m.useAptKey(ctx, a.Aptkey)
	switch {
	case err != nil:
		return nil, err
	case aptKey:
		return m.aptKeys(ctx)
	}
	dir := dirOr(a.Keydir)
	if err := m.needDir(dir); err != nil {
		m.env.Log.Error(err)
		return false, nil
	}
	all := &data.Map{}
	files, err := os.ReadDir(m.path(dir))
	if err != nil {
		return nil, loader.Execution("list keys: %w", err)
	}
	for _, f := range files {
		keys, err := m.keysIn(ctx, filepath.Join(m.path(dir), f.Name()))
		if err != nil {
			return nil, err
		}
		all.Update(keys)
	}
	return all, nil
}

func dirOr(dir any) string {
	if data.Truth(dir) {
		return data.Str(dir)
	}
	return keyDir
}

// aptKeys returns the keys in apt-key.
func (m *module) aptKeys(ctx context.Context) (*data.Map, error) {
	out, err := m.run(ctx, calls.Run{Log: "trace"}, "apt-key", "adv", "--batch",
		"--list-public-keys", "--with-fingerprint", "--with-fingerprint", "--with-colons",
		"--fixed-list-mode")
	if err == nil && out.Retcode != 0 {
		err = loader.Execution("list the keys of apt-key: %s", out.Stderr)
	}
	return parseKeys(out.Stdout), err
}

// keysIn returns the keys in a file.
func (m *module) keysIn(ctx context.Context, file string) (*data.Map, error) {
	out, err := m.run(ctx, calls.Run{IgnoreRetcode: true}, "gpg", "--no-default-keyring",
		"--keyring", file, "--list-keys", "--with-colons")
	return parseKeys(out.Stdout), err
}

// parseKeys parses the key listing that gpg prints with --with-colons (doc/DETAILS of GnuPG).
func parseKeys(text string) *data.Map {
	var keys []*data.Map
	var sub *data.Map // the last subkey of the last key
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimRight(line, "\r\n"), ":")
		f = append(f, make([]string, max(0, 12-len(f)))...)
		switch kind := strings.TrimSpace(f[0]); {
		case kind == "pub":
			keys, sub = append(keys, keyOfFields(f)), nil
		case len(keys) == 0:
		case kind == "sub":
			sub = keyOfFields(f)
			keys[len(keys)-1].Set("subkey", sub)
		case kind == "fpr" && sub != nil:
			sub.Set("fingerprint", number(f[9]))
		case kind == "fpr":
			keys[len(keys)-1].Set("fingerprint", number(f[9]))
		case kind == "uid":
			keys[len(keys)-1].Set("uid", number(f[9]))
			keys[len(keys)-1].Set("uid_hash", number(f[7]))
		}
	}
	all := &data.Map{}
	for _, k := range keys {
		all.Set(k.Value("keyid"), k)
	}
	return all
}

func keyOfFields(f []string) *data.Map {
	return data.NewMap("algorithm", number(f[3]), "bits", number(f[2]), "capability", number(f[11]),
		"date_creation", number(f[5]), "date_expiration", number(f[6]), "keyid",
		strings.TrimSpace(f[4]), "validity", number(f[1]))
}

// number converts a field: to an integer if it is one, to nil if it is empty.
func number(field string) any {
	field = strings.TrimSpace(field)
	if field == "" {
		return nil
	}
	if n, err := strconv.ParseInt(field, 10, 64); err == nil {
		return n
	}
	return field
}

// keyOf returns the key whose id or fingerprint ends in id, or nil.
func keyOf(keys *data.Map, id string) *data.Map {
	id = strings.ToUpper(strings.TrimPrefix(strings.ToLower(id), "0x"))
	for _, v := range keys.All() {
		k, _ := v.(*data.Map)
		if id != "" && (strings.HasSuffix(k.Text("keyid"), id) ||
			strings.HasSuffix(data.Str(k.Value("fingerprint")), id)) {
			return k
		}
	}
	return nil
}

type addKeyArgs struct {
	Path      any `default:"None"`
	Text      any `default:"None"`
	Keyserver any `default:"None"`
	Keyid     any `default:"None"`
	Saltenv   any `default:"'base'"`
	Aptkey    any `default:"True"`
	Keydir    any `default:"None"`
	Keyfile   any `default:"None"`
}

// addRepoKey adds a key that sources are verified with: from a file, a string, or a key server. It
// returns whether the key is present afterwards.
//
// path
//
//	The file; salt:// is possible.
//
// text
//
//	The key itself.
//
// keyserver, keyid
//
//	A key of that server.
//
// aptkey
//
//	False: store the key in a file instead of in apt-key. This is always so if there is no apt-key.
//
// keydir, keyfile
//
//	The directory and the name of that file. Default: /etc/apt/keyrings and the name of path.
//
// CLI Example:
//
//	salt '*' pkg.add_repo_key salt://apt/keys/web.asc aptkey=False keyfile=web.gpg
func (m *module) addRepoKey(ctx context.Context, a addKeyArgs) (any, error) {
	if !data.Truth(a.Path) && !data.Truth(a.Text) && !data.Truth(a.Keyserver) &&
		!data.Truth(a.Keyid) {
		return nil, loader.TypeError("add_repo_key() takes at least 1 argument (0 given)")
	}
	aptKey, err := m.useAptKey(ctx, a.Aptkey)
	if err != nil {
		return nil, err
	}
	r := ring{aptKey, dirOr(a.Keydir), ""}
	if data.Truth(a.Keyfile) {
		r.file = filepath.Base(data.Str(a.Keyfile))
	}
	if err := m.needDir(r.dir); err != nil && !aptKey {
		m.env.Log.Error(err)
		return false, nil
	}
	if known, err := m.hasKey(ctx, r, a.Keyid); err != nil || known {
		return known, err
	}
	switch {
	case data.Truth(a.Path):
		return m.addFile(ctx, r, data.Str(a.Path), data.Str(a.Saltenv))
	case data.Truth(a.Text):
		return m.addText(ctx, r, data.Str(a.Text))
	case !data.Truth(a.Keyserver):
		return nil, loader.Invocation("No keyserver specified for keyid: %s", data.Str(a.Keyid))
	case !data.Truth(a.Keyid):
		return nil, loader.Invocation("No keyid or keyid too short for keyserver: %s",
			data.Str(a.Keyserver))
	}
	return m.addServed(ctx, r, keyID(a.Keyid), data.Str(a.Keyserver))
}

// hasKey reports whether a key is already present. Without an id it does not check and returns
// false.
func (m *module) hasKey(ctx context.Context, r ring, id any) (bool, error) {
	if !data.Truth(id) {
		return false, nil
	}
	keys, err := m.getRepoKeys(ctx, keysArgs{Aptkey: r.aptKey, Keydir: r.dir})
	all, there := keys.(*data.Map) // False if the key directory is missing
	return there && keyOf(all, keyID(id)) != nil, err
}

func (m *module) addFile(ctx context.Context, r ring, url, saltenv string) (any, error) {
	path, err := packages.Fetched(ctx, m.env, url, saltenv)
	switch {
	case err != nil:
		return nil, err
	case path == "":
		m.env.Log.Errorf("Unable to get cached copy of file: %s", url)
		return false, nil
	case r.aptKey:
		return m.added(m.run(ctx, calls.Run{}, "apt-key", "add", path))
	case r.file == "":
		r.file = filepath.Base(path)
	}
	key, err := os.ReadFile(path)
	if err == nil {
		err = m.placeKey(r, key)
	}
	if err != nil {
		return nil, loader.Execution("add repo key: %w", err)
	}
	return true, nil
}

func (m *module) addText(ctx context.Context, r ring, text string) (any, error) {
	switch {
	case r.aptKey:
		return m.added(m.run(ctx, calls.Run{Stdin: text}, "apt-key", "add", "-"))
	case r.file == "":
		return m.logNoKeyFile(), nil
	}
	if err := m.placeKey(r, []byte(text)); err != nil {
		return nil, loader.Execution("add repo key: %w", err)
	}
	return true, nil
}

func (m *module) addServed(ctx context.Context, r ring, id, server string) (any, error) {
	switch {
	case r.aptKey:
		return m.added(m.run(ctx, calls.Run{}, "apt-key", "adv", "--batch", "--keyserver", server,
			"--recv", id))
	case r.file == "":
		return m.logNoKeyFile(), nil
	}
	return m.receive(ctx, r, id, server)
}

func (m *module) logNoKeyFile() bool {
	m.env.Log.Error("You must define the name of the key file to save the key. See keyfile argument")
	return false
}

func (m *module) added(out calls.Ran, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	if out.Retcode != 0 {
		m.env.Log.Errorf("Unable to add repo key: %s", out.Stderr)
	}
	return out.Retcode == 0, nil
}

type delKeyArgs struct {
	Name   any       `default:"None"`
	Aptkey any       `default:"True"`
	Keydir any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// delRepoKey removes a key that sources are verified with. It returns the key's ID, or False if
// there is no such key.
//
// name
//
//	The source that the key belongs to, as ppa:OWNER/NAME; only needed with keyid_ppa.
//
// keyid
//
//	The ID of the key, 8 or 16 characters.
//
// keyid_ppa
//
//	True: get the ID from Launchpad.
//
// aptkey, keydir
//
//	As for pkg.add_repo_key. The file with the key is removed.
//
// CLI Example:
//
//	salt '*' pkg.del_repo_key keyid=0123ABCD
func (m *module) delRepoKey(ctx context.Context, a delKeyArgs) (any, error) {
	aptKey, err := m.useAptKey(ctx, a.Aptkey)
	if err != nil {
		return nil, err
	}
	dir := dirOr(a.Keydir)
	if err := m.needDir(dir); err != nil && !aptKey {
		m.env.Log.Error(err)
		return false, nil
	}
	id, err := m.keyToDelete(ctx, data.Str(a.Name), a.Kwargs)
	if err != nil {
		return nil, err
	}
	if !aptKey {
		return m.removeKeyFile(ctx, dir, id)
	}
	if err := process.Operands(data.Str(id)); err != nil {
		return nil, loader.Execution("%w", err)
	}
	out, err := m.run(ctx, calls.Run{}, "apt-key", "del", data.Str(id))
	switch {
	case err != nil:
		return nil, err
	case out.Retcode != 0 && out.Stderr != "":
		return nil, loader.Execution("Failed to remove keyid %s: %s", data.Str(id), out.Stderr)
	case out.Retcode != 0:
		return nil, loader.Execution("Failed to remove keyid %s", data.Str(id))
	}
	return id, nil
}

func (m *module) keyToDelete(ctx context.Context, name string, kwargs *data.Map) (any, error) {
	if !data.Truth(kwargs.Value("keyid_ppa")) {
		id, ok := kwargs.Get("keyid")
		if !ok {
			return nil, loader.Invocation("keyid or keyid_ppa and PPA name must be passed")
		}
		return id, nil
	}
	if !isPPA(name) {
		return nil, loader.Invocation("keyid_ppa requires that a PPA be passed")
	}
	owner, ppa, err := ppaOf(name)
	if err != nil {
		return nil, err
	}
	a, err := m.askLaunchpad(ctx, owner, ppa)
	return a.Fingerprint[max(0, len(a.Fingerprint)-8):], err
}

// removeKeyFile removes the file that contains a key.
func (m *module) removeKeyFile(ctx context.Context, dir string, id any) (any, error) {
	text := keyID(id)
	if len(text) != 8 && len(text) != 16 {
		m.env.Log.Error("The keyid needs to be either 8 or 16 characters")
		return false, nil
	}
	files, err := os.ReadDir(m.path(dir))
	if err != nil {
		return nil, loader.Execution("list keys: %w", err)
	}
	for _, f := range files {
		path := filepath.Join(m.path(dir), f.Name())
		keys, err := m.keysIn(ctx, path)
		if err != nil {
			return nil, err
		}
		if keyOf(keys, text) != nil {
			return id, os.Remove(path)
		}
	}
	m.env.Log.Errorf("Could not find the key file for keyid: %s", text)
	return false, nil
}
