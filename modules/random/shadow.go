package random

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pwhash"
	"github.com/brineproject/brine/loader"
)

type shadowHashArgs struct {
	CryptSalt any `default:"None"`
	Password  any `default:"None"`
	Algorithm any `default:"'sha512'"`
}

// shadowHash returns the hash of a password in the form used in /etc/shadow.
//
// crypt_salt : None
//
//	The salt. Default: random. It may begin with rounds=N$, a million at most. For blowfish it
//	begins with the cost: 12$.
//
// password : None
//
//	The password. Default: random.
//
// algorithm : sha512
//
//	sha512, sha256, blowfish or md5.
//
// CLI Example:
//
//	salt '*' random.shadow_hash 'My5alT' 'MyP@asswd' md5
func (m *module) shadowHash(_ context.Context, a shadowHashArgs) (any, error) {
	password := pick([]rune(getStrArgs{Lowercase: true, Uppercase: true, Digits: true,
		Punctuation: true}.set()), 20)
	if a.Password != nil {
		password = data.Str(a.Password)
	}
	method := pwhash.SHA512
	if a.Algorithm != nil {
		method = pwhash.Method(data.Str(a.Algorithm))
	}
	if !pwhash.Known(string(method)) {
		return nil, loader.Invocation("Cannot hash using '%s' hash algorithm. Natively supported algorithms are: ['sha512', 'sha256', 'blowfish', 'md5'].", data.Str(a.Algorithm))
	}
	salt := method.Salt()
	if a.CryptSalt != nil {
		salt = data.Str(a.CryptSalt)
	}
	hash, err := method.Hash(password, salt)
	switch {
	case errors.Is(err, pwhash.ErrSalt):
		return "*0", nil // crypt(3) returns this
	case err != nil:
		return nil, loader.Execution("%w", err)
	}
	return hash, nil
}
