// Package file knows users by a file (salt/auth/file.py): lines with a name and a password, plain or hashed, or files of
// Apache's htpasswd and htdigest. The file is read at each login.
//
//	external_auth:
//	  file:
//	    ^filename: /etc/salt/users
//	    ^filetype: text            # or htpasswd, htdigest
//	    ^hashtype: sha512          # text: plaintext, or a hash of hashlib in hex
//	    fred: ['.*']
//
// A hash of DES, which htpasswd -d makes, is refused.
package file

import (
	"bufio"
	"bytes"
	"context"
	"crypto/md5"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/tg123/go-htpasswd"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
)

// maxFile is the longest file, in bytes.
const maxFile = 16 << 20

// users is a file with the settings that say how to read it.
type users struct {
	file      string
	kind      string // text, htpasswd or htdigest
	hash      string
	separator string
	name      int // fields, from 0
	password  int
	realm     string
}

var _ auth.System = (*users)(nil)

// Open returns the system that external_auth: file describes in the options of a master. The error names a setting that
// is missing or wrong.
func Open(opts *data.Map) (auth.System, error) {
	all, _ := opts.Value("external_auth").(*data.Map)
	own, _ := all.Value("file").(*data.Map)
	set := auth.Settings(own)
	u := &users{file: set.Text("filename"), kind: textOr(set, "filetype", "text"), hash: textOr(set, "hashtype", "plaintext"),
		separator: textOr(set, "field_separator", ":"), realm: set.Text("realm")}
	var err error
	switch {
	case u.file == "":
		return nil, errors.New("^filename is missing")
	case u.kind == "htdigest" && u.realm == "":
		return nil, errors.New("^realm is missing, which ^filetype: htdigest needs")
	case u.kind != "text" && u.kind != "htpasswd" && u.kind != "htdigest":
		return nil, fmt.Errorf("^filetype: %s is not text, htpasswd or htdigest", u.kind)
	}
	if u.hash != "plaintext" {
		if _, err := crypto.NewHash(u.hash); err != nil {
			return nil, fmt.Errorf("^hashtype: %w", err)
		}
	}
	if u.name, err = field(set, "username_field", 1); err != nil {
		return nil, err
	}
	u.password, err = field(set, "password_field", 2)
	return u, err
}

// Check returns an error where no user could log in, so that a mistake shows when the master starts.
func (u *users) Check() error {
	info, err := os.Stat(u.file)
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("^filename: %s is no regular file", u.file)
	}
	if err != nil {
		return fmt.Errorf("^filename: %w; make the file, or mend the path", err)
	}
	return nil
}

func textOr(m *data.Map, key, otherwise string) string {
	if !m.Has(key) {
		return otherwise
	}
	return data.Str(m.Value(key))
}

// field reads the number of a field, from 1, and returns it from 0.
func field(m *data.Map, key string, otherwise int) (int, error) {
	if !m.Has(key) {
		return otherwise - 1, nil
	}
	n, err := strconv.Atoi(data.Str(m.Value(key)))
	if err != nil || n < 1 || n > 1000 {
		return 0, fmt.Errorf("^%s: %s is no number of a field", key, data.Str(m.Value(key)))
	}
	return n - 1, nil
}

// Login reports whether the file has the name with this password. The first line with the name decides.
func (u *users) Login(_ context.Context, l auth.Login) (bool, error) {
	f, err := os.Open(u.file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false, fmt.Errorf("%s is no regular file", u.file)
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return false, err
	case len(raw) > maxFile:
		return false, fmt.Errorf("%s is longer than %d bytes", u.file, maxFile)
	}
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, maxFile)
	for lines.Scan() {
		if found, ok, err := u.line(strings.TrimSpace(lines.Text()), l); found {
			return ok, err
		}
	}
	return false, lines.Err()
}

// line reports whether a line is about the user, and whether the password is right then.
func (u *users) line(line string, l auth.Login) (found, ok bool, err error) {
	if line == "" || u.kind != "text" && strings.HasPrefix(line, "#") {
		return false, false, nil
	}
	switch u.kind {
	case "htpasswd":
		name, hashed, _ := strings.Cut(line, ":")
		if name != l.Name {
			return false, false, nil
		}
		ok, err := verify(hashed, l.Password)
		return true, ok, err
	case "htdigest":
		fields := strings.Split(line, ":")
		if len(fields) != 3 || fields[0] != l.Name || fields[1] != u.realm {
			return false, false, nil
		}
		sum := md5.Sum([]byte(l.Name + ":" + u.realm + ":" + l.Password)) //nolint:gosec // the format's
		return true, same(fields[2], hex.EncodeToString(sum[:])), nil
	}
	return u.textLine(strings.Split(line, u.separator), l)
}

func (u *users) textLine(fields []string, l auth.Login) (found, ok bool, err error) {
	if u.name >= len(fields) || u.password >= len(fields) {
		return true, false, fmt.Errorf("a line of %s has %d fields", u.file, len(fields))
	}
	if fields[u.name] != l.Name {
		return false, false, nil
	}
	if u.hash == "plaintext" {
		return true, same(fields[u.password], l.Password), nil
	}
	h, err := crypto.NewHash(u.hash)
	if err != nil {
		return true, false, err
	}
	h.Write([]byte(l.Password))
	return true, same(fields[u.password], hex.EncodeToString(h.Sum(nil))), nil
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// desHash is what a hash of DES looks like.
var desHash = regexp.MustCompile(`^[./0-9A-Za-z]{13}$`)

// verify compares a password with what htpasswd made of one: bcrypt, APR1, SHA-1, SHA-256 and SHA-512 of crypt, or plain text.
func verify(hashed, password string) (bool, error) {
	if desHash.MatchString(hashed) {
		return false, errors.New("the password is hashed with DES, which is not supported; use htpasswd -B")
	}
	for _, parse := range []htpasswd.PasswdParser{htpasswd.AcceptMd5, htpasswd.AcceptSha, htpasswd.AcceptBcrypt, htpasswd.AcceptSsha, htpasswd.AcceptCryptSha} {
		p, err := parse(hashed)
		if err != nil {
			return false, errors.New("the hash of the password cannot be read")
		}
		if p != nil {
			return p.MatchesPassword(password), nil
		}
	}
	if strings.HasPrefix(hashed, "$") || strings.HasPrefix(hashed, "{") {
		return false, errors.New("the password is hashed in a way that is not supported")
	}
	return same(hashed, password), nil
}
