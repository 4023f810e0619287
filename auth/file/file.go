// Package file authenticates users by a file (salt/auth/file.py): lines with a name and a plain or
// hashed password, or Apache's htpasswd and htdigest formats. The file is read at each login.
//
//	external_auth:
//	  file:
//	    ^filename: /etc/salt/users
//	    ^filetype: text            # or htpasswd, htdigest
//	    ^hashtype: sha512          # text: plaintext, or a hash of hashlib in hex
//	    fred: ['.*']
//
// DES hashes, as created by htpasswd -d, are rejected.
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

// maxFile is the maximum file size in bytes.
const maxFile = 16 << 20

// users is a password file with its format settings.
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

// Open returns the system described by external_auth: file in the options of a master. The error
// names a missing or invalid setting.
func Open(opts *data.Map) (auth.System, error) {
	all, _ := opts.Value("external_auth").(*data.Map)
	own, _ := all.Value("file").(*data.Map)
	set := auth.Settings(own)
	u := &users{file: set.Text("filename"), kind: textOr(set, "filetype", "text"),
		hash: textOr(set, "hashtype", "plaintext"), separator: textOr(set, "field_separator", ":"),
		realm: set.Text("realm")}
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

// Check fails if no user could log in, so that mistakes are reported when the master starts.
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

// field reads a field number, which counts from 1, and returns it counted from 0.
func field(m *data.Map, key string, otherwise int) (int, error) {
	if !m.Has(key) {
		return otherwise - 1, nil
	}
	n, err := strconv.Atoi(data.Str(m.Value(key)))
	if err != nil || n < 1 || n > 1000 {
		return 0, fmt.Errorf("^%s: %s is not a field number", key, data.Str(m.Value(key)))
	}
	return n - 1, nil
}

// Login reports whether the file contains the name with this password. The first line with the name
// decides.
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

// line reports whether a line belongs to the user, and if so whether the password is correct.
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
		sum := md5.Sum([]byte(l.Name + ":" + u.realm + ":" + l.Password))
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

// desHash matches DES hashes.
var desHash = regexp.MustCompile(`^[./0-9A-Za-z]{13}$`)

// verify compares a password with an htpasswd hash: bcrypt, APR1, SHA-1, SHA-256 and SHA-512 of
// crypt, or plain text.
func verify(hashed, password string) (bool, error) {
	if desHash.MatchString(hashed) {
		return false, errors.New("the password is hashed with DES, which is not supported; use htpasswd -B")
	}
	for _, parse := range []htpasswd.PasswdParser{htpasswd.AcceptMd5, htpasswd.AcceptSha,
		htpasswd.AcceptBcrypt, htpasswd.AcceptSsha, htpasswd.AcceptCryptSha} {
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
