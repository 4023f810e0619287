package crypto

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"io"
	"math/big"
)

// Bytes of an X9.31 block: 6B BB … BB BA message CC, or 6A message CC when the message fills it.
const (
	x931Full  = 0x6A
	x931Start = 0x6B
	x931Fill  = 0xBB
	x931Stop  = 0xBA
	x931End   = 0xCC
)

// padX931 returns msg padded to size bytes (OpenSSL: RSA_padding_add_X931).
func padX931(msg []byte, size int) ([]byte, error) {
	fill := size - len(msg) - 2
	if fill < 0 {
		return nil, ErrTooLong
	}
	block := make([]byte, 0, size)
	if fill == 0 {
		block = append(block, x931Full)
	} else {
		block = append(block, x931Start)
		block = append(block, bytes.Repeat([]byte{x931Fill}, fill-1)...)
		block = append(block, x931Stop)
	}
	block = append(block, msg...)
	return append(block, x931End), nil
}

// unpadX931 returns the message of a block, or nil if the padding is invalid. It is as strict as
// OpenSSL's RSA_padding_check_X931, which requires at least one byte of fill after 6B. An empty
// message is invalid.
func unpadX931(block []byte) []byte {
	last := len(block) - 1
	if last < 2 || block[last] != x931End {
		return nil
	}
	body := block[1:last]
	switch block[0] {
	case x931Full:
		return body
	case x931Start:
		filled := 0
		for filled < len(body) && body[filled] == x931Fill {
			filled++
		}
		return messageAfterStop(body[filled:], filled)
	}
	return nil
}

func messageAfterStop(rest []byte, filled int) []byte {
	if filled == 0 || len(rest) < 2 || rest[0] != x931Stop {
		return nil
	}
	return rest[1:]
}

// smallerX931 returns the smaller of s and n-s, which is the signature.
func smallerX931(s, n *big.Int) *big.Int {
	other := new(big.Int).Sub(n, s)
	if other.Cmp(s) < 0 {
		return other
	}
	return s
}

// RecoverX931 returns the message of a signature made by EncryptX931 with the private key, or
// ErrVerification. The signature must have the size of the modulus and be smaller than it. Both s
// and n-s are accepted, because old versions of OpenSSL did not always choose the smaller one.
func (k *PublicKey) RecoverX931(sig []byte) ([]byte, error) {
	size := k.rsa.Size()
	s := new(big.Int).SetBytes(sig)
	if len(sig) != size || s.Sign() == 0 || s.Cmp(k.rsa.N) >= 0 {
		return nil, ErrVerification
	}
	v := publicPower(s, &k.rsa)
	if v.Uint64()&0xF != x931End&0xF {
		v.Sub(k.rsa.N, v)
	}
	msg := unpadX931(v.FillBytes(make([]byte, size)))
	if msg == nil {
		return nil, ErrVerification
	}
	return msg, nil
}

// publicPower returns s^e mod n.
func publicPower(s *big.Int, k *rsa.PublicKey) *big.Int {
	return new(big.Int).Exp(s, big.NewInt(int64(k.E)), k.N)
}

// power returns block^d mod n. crypto/rsa has no operation without padding, and the running time of
// math/big depends on its operands. Therefore the base is blinded by a fresh random factor and the
// result is checked with the public exponent, so that neither timing nor a computation fault
// reveals the key.
func (k *PrivateKey) power(random io.Reader, block []byte) (*big.Int, error) {
	m := new(big.Int).SetBytes(block)
	if m.Cmp(k.rsa.N) >= 0 {
		return nil, errors.New("block is not smaller than the modulus")
	}
	r, inverse, err := blinding(random, k.rsa.N)
	if err != nil {
		return nil, err
	}
	blinded := publicPower(r, &k.rsa.PublicKey)
	blinded.Mul(blinded, m).Mod(blinded, k.rsa.N)
	s := k.exponentiate(blinded)
	s.Mul(s, inverse).Mod(s, k.rsa.N)
	if publicPower(s, &k.rsa.PublicKey).Cmp(m) != 0 {
		return nil, errors.New("result does not verify")
	}
	return s, nil
}

// blinding returns a random number below n and its inverse.
func blinding(random io.Reader, n *big.Int) (r, inverse *big.Int, err error) {
	for {
		r, err = rand.Int(random, n)
		if err != nil {
			return nil, nil, err
		}
		if inverse = new(big.Int).ModInverse(r, n); inverse != nil {
			return r, inverse, nil
		}
	}
}

// exponentiate returns c^d mod n, by the Chinese remainder theorem for a key with two primes.
func (k *PrivateKey) exponentiate(c *big.Int) *big.Int {
	pre := &k.rsa.Precomputed
	if len(k.rsa.Primes) != 2 || pre.Qinv == nil {
		return new(big.Int).Exp(c, k.rsa.D, k.rsa.N)
	}
	p, q := k.rsa.Primes[0], k.rsa.Primes[1]
	m1 := new(big.Int).Exp(new(big.Int).Mod(c, p), pre.Dp, p)
	m2 := new(big.Int).Exp(new(big.Int).Mod(c, q), pre.Dq, q)
	m1.Sub(m1, m2).Mul(m1, pre.Qinv).Mod(m1, p)
	return m1.Mul(m1, q).Add(m1, m2)
}
