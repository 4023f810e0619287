package random

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/GehirnInc/crypt"
	"github.com/GehirnInc/crypt/md5_crypt"
	"github.com/GehirnInc/crypt/sha256_crypt"
	"github.com/GehirnInc/crypt/sha512_crypt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type shadowHashArgs struct {
	CryptSalt any `default:"None"`
	Password  any `default:"None"`
	Algorithm any `default:"'sha512'"`
}

// shadowHash returns the hash of a password as it stands in /etc/shadow.
//
// crypt_salt : None
//
//	The salt, by chance where there is none; it may begin with rounds=N$, a million at most.
//
// password : None
//
//	The password, by chance where there is none.
//
// algorithm : sha512
//
//	sha512, sha256 or md5.
//
// CLI Example:
//
//	salt '*' random.shadow_hash 'My5alT' 'MyP@asswd' md5
func (m *module) shadowHash(_ context.Context, a shadowHashArgs) (any, error) {
	password := pick([]rune(getStrArgs{Lowercase: true, Uppercase: true, Digits: true, Punctuation: true}.set()), 20)
	if a.Password != nil {
		password = data.Str(a.Password)
	}
	c, id, width := method(a.Algorithm)
	if c == nil {
		return nil, loader.Invocation("Cannot hash using '%s' hash algorithm. Natively supported algorithms are: ['sha512', 'sha256', 'md5'].", data.Str(a.Algorithm))
	}
	salt := pick([]rune("./"+digits+uppercase+lowercase), width)
	if a.CryptSalt != nil {
		salt = data.Str(a.CryptSalt)
	}
	if !usable(salt, id) {
		return "*0", nil // what crypt(3) says of it
	}
	if n := rounds(salt); id != "1" && n > mostRounds {
		return nil, loader.Execution("rounds=%d of the salt are more than %d", n, mostRounds)
	}
	return c.Generate([]byte(password), []byte("$"+id+"$"+fitting(salt, width)))
}

// mostRounds are what a hash is computed with at most, in about a second; crypt(3) takes 999,999,999.
const mostRounds = 1_000_000

// rounds is the number that a salt begins with, 0 where there is none.
func rounds(salt string) int {
	found := roundsOf.FindStringSubmatch(salt)
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(found[1])
	return n
}

// method returns what hashes, its mark in /etc/shadow and the length of its salt.
func method(algorithm any) (c crypt.Crypter, id string, width int) {
	switch algorithm {
	case "sha512", nil:
		return sha512_crypt.New(), "6", 16
	case "sha256":
		return sha256_crypt.New(), "5", 16
	case "md5":
		return md5_crypt.New(), "1", 8
	}
	return nil, "", 0
}

var roundsOf = regexp.MustCompile(`^rounds=([0-9]+)\$`)

// usable reports whether crypt(3) takes a salt.
func usable(salt, id string) bool {
	if strings.ContainsAny(salt, ":\n\x00") {
		return false
	}
	found := roundsOf.FindStringSubmatch(salt)
	if found == nil || id == "1" {
		return true
	}
	n, err := strconv.Atoi(found[1])
	return err == nil && n >= 1000 && n <= 999_999_999 && !strings.HasPrefix(found[1], "0")
}

// fitting cuts a salt to its length.
func fitting(salt string, width int) string {
	rounds := roundsOf.FindString(salt)
	salt, _, _ = strings.Cut(salt[len(rounds):], "$")
	return rounds + salt[:min(width, len(salt))]
}
