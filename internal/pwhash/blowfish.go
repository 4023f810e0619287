package pwhash

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strconv"

	"golang.org/x/crypto/blowfish"
)

// maxCost is the maximum cost of bcrypt, about a second; each step doubles the time.
const maxCost = 14

var costAndSalt = regexp.MustCompile(`^([0-9]{2})\$([./A-Za-z0-9]{22})`)

// blowfishLetters is the alphabet of bcrypt's base64.
const blowfishLetters = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// blowfishHash hashes with bcrypt (prefix 2b), as described by Provos and Mazières (A
// Future-Adaptable Password Scheme, 1999).
func blowfishHash(password, salt string) (string, error) {
	found := costAndSalt.FindStringSubmatch(salt)
	if found == nil {
		return "", fmt.Errorf("hash a password with bcrypt: %w", ErrSalt)
	}
	cost, err := strconv.Atoi(found[1])
	switch {
	case err != nil || cost < 4 || cost > 31:
		return "", fmt.Errorf("hash a password with bcrypt: cost %s: %w", found[1], ErrSalt)
	case cost > maxCost:
		return "", fmt.Errorf("the cost %d of the salt is more than %d", cost, maxCost)
	}
	letters := base64.NewEncoding(blowfishLetters).WithPadding(base64.NoPadding)
	raw, err := letters.DecodeString(found[2])
	if err != nil {
		return "", fmt.Errorf("hash a password with bcrypt: %w", ErrSalt)
	}
	key := append([]byte(password), 0)
	sum, err := setUpCipher(key[:min(72, len(key))], raw, cost)
	if err != nil {
		return "", fmt.Errorf("hash a password with bcrypt: %w", err)
	}
	return fmt.Sprintf("$2b$%02d$%s%s", cost, letters.EncodeToString(raw),
		letters.EncodeToString(sum[:23])), nil
}

// setUpCipher initializes the cipher with 2**cost rounds of the key, and encrypts the magic phrase
// with it.
func setUpCipher(key, salt []byte, cost int) ([]byte, error) {
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
