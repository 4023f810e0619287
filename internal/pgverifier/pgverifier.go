// Package pgverifier makes and compares PostgreSQL's password verifiers: texts that begin with md5
// or SCRAM-SHA-256 (the column rolpassword of pg_authid). Non-ASCII passwords are used unchanged.
package pgverifier

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Ways to store a password.
const (
	MD5   = "md5"
	SCRAM = "scram-sha-256"
	Plain = ""
)

const (
	scramPrefix   = "SCRAM-SHA-256"
	iterations    = 4096    // of a new verifier
	maxIterations = 1 << 20 // limit for a verifier that is compared
)

// Make returns the verifier of a role's password. A text that is a verifier already is returned
// unchanged.
func Make(role, password, way string) (string, error) {
	switch {
	case way == MD5 && !strings.HasPrefix(password, "md5"):
		sum := md5.Sum([]byte(password + role))
		return "md5" + hex.EncodeToString(sum[:]), nil
	case way == SCRAM && !strings.HasPrefix(password, scramPrefix):
		salt := make([]byte, 16)
		_, _ = rand.Read(salt) // never fails
		return scram(password, salt, iterations)
	case way != MD5 && way != SCRAM && way != Plain:
		return "", fmt.Errorf("Unknown password algorithm: %s", way) //nolint:staticcheck // Salt's text
	}
	return password, nil
}

// Same reports whether a stored verifier matches a role's password and the method way.
func Same(role, password, stored, way string) bool {
	if way == SCRAM && !strings.HasPrefix(password, scramPrefix) {
		m := regexp.MustCompile(`^SCRAM-SHA-256\$(\d+):([^$]+?)\$`).FindStringSubmatch(stored)
		if m == nil {
			return false
		}
		n, err := strconv.Atoi(m[1])
		salt, bad := base64.StdEncoding.DecodeString(m[2])
		if err != nil || bad != nil || n < 1 || n > maxIterations {
			return false
		}
		made, err := scram(password, salt, n)
		return err == nil && made == stored
	}
	made, err := Make(role, password, way)
	return err == nil && made == stored
}

func scram(password string, salt []byte, n int) (string, error) {
	salted, err := pbkdf2.Key(sha256.New, password, salt, n, sha256.Size)
	if err != nil {
		return "", err
	}
	client := sha256.Sum256(sign(salted, "Client Key"))
	text := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("%s$%d:%s$%s:%s", scramPrefix, n, text(salt), text(client[:]),
		text(sign(salted, "Server Key"))), nil
}

func sign(key []byte, message string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(message))
	return h.Sum(nil)
}
