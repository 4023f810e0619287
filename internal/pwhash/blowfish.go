package pwhash

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strconv"

	"golang.org/x/crypto/blowfish"
)

// mostCost is the cost of bcrypt that is computed at most, in about a second; each more doubles the time.
const mostCost = 14

var costAndSalt = regexp.MustCompile(`^([0-9]{2})\$([./A-Za-z0-9]{22})`)

// blowfishLetters is the order of letters in which bcrypt writes bytes.
const blowfishLetters = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// blowfishHash hashes with bcrypt, whose mark is 2b, as Provos and Mazières describe it (A Future-Adaptable Password Scheme, 1999).
func blowfishHash(password, salt string) (string, error) {
	found := costAndSalt.FindStringSubmatch(salt)
	if found == nil {
		return "", fmt.Errorf("hash a password with bcrypt: %w", ErrSalt)
	}
	cost, err := strconv.Atoi(found[1])
	switch {
	case err != nil || cost < 4 || cost > 31:
		return "", fmt.Errorf("hash a password with bcrypt: cost %s: %w", found[1], ErrSalt)
	case cost > mostCost:
		return "", fmt.Errorf("the cost %d of the salt is more than %d", cost, mostCost)
	}
	letters := base64.NewEncoding(blowfishLetters).WithPadding(base64.NoPadding)
	raw, err := letters.DecodeString(found[2])
	if err != nil {
		return "", fmt.Errorf("hash a password with bcrypt: %w", ErrSalt)
	}
	key := append([]byte(password), 0)
	sum, err := stir(key[:min(72, len(key))], raw, cost)
	if err != nil {
		return "", fmt.Errorf("hash a password with bcrypt: %w", err)
	}
	return fmt.Sprintf("$2b$%02d$%s%s", cost, letters.EncodeToString(raw), letters.EncodeToString(sum[:23])), nil
}

// stir sets the cipher up with the key 2**cost times, and enciphers a phrase with it.
func stir(key, salt []byte, cost int) ([]byte, error) {
	c, err := blowfish.NewSaltedCipher(key, salt)
	if err != nil {
		return nil, err
	}
	for range 1 << cost {
		blowfish.ExpandKey(key, c)
		blowfish.ExpandKey(salt, c)
	}
	text := []byte("OrpheanBeholderScryDoubt")
	for i := 0; i < len(text); i += blowfish.BlockSize {
		for range 64 {
			c.Encrypt(text[i:], text[i:])
		}
	}
	return text, nil
}
