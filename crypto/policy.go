package crypto

import (
	"crypto/rsa"
	"fmt"
)

const (
	minBits     = 2048
	maxBits     = 16384
	lowestBits  = 1024 // crypto/rsa rejects smaller keys
	minExponent = 65537
)

// A Policy decides which RSA keys are acceptable. The zero Policy accepts 2048 to 16384 bits. The
// exponent must always be odd and at least 65537: keys of Salt before 0.15.1 had exponent 1, which
// encrypts nothing (CVE-2013-2228).
type Policy struct {
	MinBits int // minimum modulus size; 0 means 2048, and values below 1024 mean 1024
}

// Check returns an error that wraps ErrWeakKey if k is not acceptable.
func (p Policy) Check(k *PublicKey) error {
	return p.check(&k.rsa)
}

func (p Policy) check(k *rsa.PublicKey) error {
	bits := k.N.BitLen()
	switch {
	case bits < p.bits() || bits > maxBits:
		return fmt.Errorf("%w: %d bits, allowed are %d to %d", ErrWeakKey, bits, p.bits(), maxBits)
	case k.E < minExponent || k.E%2 == 0:
		return fmt.Errorf("%w: exponent %d", ErrWeakKey, k.E)
	case k.N.Bit(0) == 0:
		return fmt.Errorf("%w: even modulus", ErrWeakKey)
	}
	return nil
}

func (p Policy) bits() int {
	if p.MinBits == 0 {
		return minBits
	}
	return max(p.MinBits, lowestBits)
}
