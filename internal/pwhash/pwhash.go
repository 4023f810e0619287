// Package pwhash makes password hashes for /etc/shadow (crypt(5)): SHA-512, SHA-256, MD5 and
// bcrypt.
//
// Others, such as traditional DES and yescrypt, are not supported.
package pwhash

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/GehirnInc/crypt"
	"github.com/GehirnInc/crypt/md5_crypt"
	"github.com/GehirnInc/crypt/sha256_crypt"
	"github.com/GehirnInc/crypt/sha512_crypt"
)

// ErrSalt is returned for a salt that crypt(3) does not accept.
var ErrSalt = errors.New("the salt is not one of this method")

// MostRounds is the maximum number of rounds, about a second; crypt(3) allows 999,999,999.
const MostRounds = 1_000_000

// A Method is a hash method, by its name in Salt.
type Method string

// The methods.
const (
	SHA512   Method = "sha512"
	SHA256   Method = "sha256"
	Blowfish Method = "blowfish"
	MD5      Method = "md5"
)

// Methods returns all methods, the strongest first.
func Methods() []Method { return []Method{SHA512, SHA256, Blowfish, MD5} }

// Known reports whether a name is that of a method.
func Known(name string) bool { return slices.Contains(Methods(), Method(name)) }

const saltLetters = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Salt returns a random salt.
func (m Method) Salt() string {
	switch m {
	case MD5:
		return letters(8)
	case Blowfish:
		return "12$" + letters(22)
	}
	return letters(16)
}

func letters(n int) string {
	b := make([]byte, n)
	for i := range b {
		k, err := rand.Int(rand.Reader, big.NewInt(int64(len(saltLetters))))
		if err != nil {
			panic(err) // the system's random source never fails
		}
		b[i] = saltLetters[k.Int64()]
	}
	return string(b)
}

// Hash returns the hash of a password with its prefix and salt, in the form of /etc/shadow. The
// salts of SHA may begin with rounds=N$, and that of bcrypt begins with its cost: 12$. The error
// wraps ErrSalt if crypt(3) does not accept the salt.
func (m Method) Hash(password, salt string) (string, error) {
	if strings.ContainsAny(salt, ":\n\x00") {
		return "", fmt.Errorf("hash a password: %w", ErrSalt)
	}
	switch m {
	case SHA512:
		return m.sha(sha512_crypt.New(), "$6$", password, salt)
	case SHA256:
		return m.sha(sha256_crypt.New(), "$5$", password, salt)
	case MD5:
		salt, _, _ = strings.Cut(salt, "$")
		return md5_crypt.New().Generate([]byte(password), []byte("$1$"+salt[:min(8, len(salt))]))
	case Blowfish:
		return blowfishHash(password, salt)
	}
	return "", fmt.Errorf("hash a password: unknown method %q", string(m))
}

var roundsOf = regexp.MustCompile(`^rounds=([0-9]+)\$`)

// sha hashes with a method that has rounds.
func (m Method) sha(c crypt.Crypter, mark, password, salt string) (string, error) {
	rounds := ""
	if found := roundsOf.FindStringSubmatch(salt); found != nil {
		n, err := strconv.Atoi(found[1])
		switch {
		case err != nil || n < 1000 || n > 999_999_999 || found[1][0] == '0':
			return "", fmt.Errorf("hash a password: rounds=%s: %w", found[1], ErrSalt)
		case n > MostRounds:
			return "", fmt.Errorf("rounds=%d of the salt are more than %d", n, MostRounds)
		}
		rounds = found[0]
	}
	salt, _, _ = strings.Cut(salt[len(rounds):], "$")
	return c.Generate([]byte(password), []byte(mark+rounds+salt[:min(16, len(salt))]))
}
