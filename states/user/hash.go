package user

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
)

// hash returns the hash of a password. If the password is the user's current one, the result equals
// the current hash: method, rounds and salt are taken from it if its method is known.
func (m *module) hash(ctx context.Context, name, password string) (any, error) {
	entry, err := m.dictionary(ctx, "shadow.info", name)
	if err != nil {
		return nil, err
	}
	if algorithm, salt := settings(entry.Text("passwd")); algorithm != "" {
		if algorithm == "md5" {
			m.env.Log.Warn("Using MD5 for hashing passwords is considered insecure!")
		}
		again, err := m.env.Call(ctx, "shadow.gen_password", []any{password},
			data.NewMap("crypt_salt", salt, "algorithm", algorithm))
		if text, ok := again.(string); ok && err == nil && strings.HasPrefix(text, "$") {
			return text, nil
		}
	}
	return m.call(ctx, "shadow.gen_password", password)
}

// settings returns the method and the salt of a hash (crypt(5)), "" if unknown.
func settings(hash string) (algorithm, salt string) {
	f := strings.Split(strings.TrimPrefix(hash, "!"), "$")
	if len(f) < 4 || f[0] != "" {
		return "", ""
	}
	switch mark := f[1]; mark {
	case "1":
		algorithm = "md5"
	case "5":
		algorithm = "sha256"
	case "6":
		algorithm = "sha512"
	case "2a", "2b", "2y":
		if len(f[3]) < 22 {
			return "", ""
		}
		return "blowfish", f[2] + "$" + f[3][:22]
	default:
		return "", ""
	}
	if strings.HasPrefix(f[2], "rounds=") && len(f) == 5 {
		return algorithm, f[2] + "$" + f[3]
	}
	return algorithm, f[2]
}
