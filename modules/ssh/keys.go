package ssh

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

var hostKey = regexp.MustCompile(`^ssh_host_(.+)_key((-cert)?\.pub)?`)

type hostKeysArgs struct {
	Keydir  any `default:"None"`
	Private any `default:"True"`
	Certs   any `default:"True"`
}

// hostKeys returns the keys of the host, including the private ones.
//
// keydir : /etc/ssh
//
//	The directory.
//
// private, certs : True
//
//	False leaves out private keys, or certificates.
//
// CLI Example:
//
//	salt '*' ssh.host_keys private=False
func (m *module) hostKeys(_ context.Context, a hostKeysArgs) (any, error) {
	dir := "/etc/ssh"
	if data.Truth(a.Keydir) {
		dir = data.Str(a.Keydir)
	}
	names, err := os.ReadDir(m.path(dir))
	if err != nil {
		return nil, loader.Execution("list keys of the host: %w", err)
	}
	keys := &data.Map{}
	for _, e := range names {
		found := hostKey.FindStringSubmatch(e.Name())
		if found == nil || found[2] == "" && a.Private == false || found[3] != "" &&
			a.Certs == false {
			continue
		}
		// unreadable files are shown empty
		text, _ := os.ReadFile(filepath.Join(m.path(dir), e.Name()))
		keys.Set(found[1]+found[2], strings.TrimSpace(string(text)))
	}
	return keys, nil
}

type userKeysArgs struct {
	User    any `default:"None"`
	Pubfile any `default:"None"`
	Prvfile any `default:"None"`
}

// userKeys returns the keys of users, including the private ones; of all users unless some are
// named.
//
// pubfile, prvfile
//
//	Other file names than the default ones; False for none.
//
// CLI Example:
//
//	salt '*' ssh.user_keys user=ann prvfile=False
func (m *module) userKeys(ctx context.Context, a userKeysArgs) (any, error) {
	users, _, err := m.users(ctx, a.User)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, f := range []struct {
		named any
		end   string
	}{{a.Pubfile, ".pub"}, {a.Prvfile, ""}} {
		switch {
		case data.Truth(f.named):
			files = append(files, data.Str(f.named))
		case f.named != false:
			files = append(files, "id_rsa"+f.end, "id_dsa"+f.end, "id_ecdsa"+f.end,
				"id_ed25519"+f.end)
		}
	}
	all := &data.Map{}
	for _, user := range users {
		o, there, err := m.owner(ctx, data.Str(user))
		if err != nil {
			return nil, err
		}
		own := &data.Map{}
		for _, file := range files {
			path := file
			if !filepath.IsAbs(file) {
				path = filepath.Join(o.home, ".ssh", file)
			}
			if text, err := os.ReadFile(m.path(path)); there && err == nil {
				own.Set(filepath.Base(file), strings.TrimSpace(string(text)))
			}
		}
		if own.Len() > 0 {
			all.Set(user, own)
		}
	}
	return all, nil
}

type keyArgs struct{ Key string }

// keyIsEncrypted reports whether the private key in a file has a passphrase.
//
// CLI Example:
//
//	salt '*' ssh.key_is_encrypted /root/id_rsa
func (m *module) keyIsEncrypted(_ context.Context, a keyArgs) (any, error) {
	text, err := os.ReadFile(m.path(a.Key))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, loader.Execution("%s does not exist", a.Key)
	case errors.Is(err, fs.ErrPermission):
		return nil, loader.Execution("Permission denied reading from %s", a.Key)
	case err != nil:
		return nil, loader.Execution("Error encountered reading from %s: %w", a.Key, err)
	case !regexp.MustCompile(`BEGIN (?:\w+\s)*PRIVATE KEY`).Match(text):
		return nil, loader.Execution("%s is not a private key", a.Key)
	}
	return bytes.Contains(text, []byte("ENCRYPTED")), nil
}
