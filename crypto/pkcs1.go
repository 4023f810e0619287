package crypto

import (
	"crypto/rsa"
	"encoding/asn1"
	"errors"
	"math"
	"math/big"
)

// RSA keys in the form of PKCS#1 (RFC 8017, appendix A.1). Package x509 reads and writes them too,
// but whoever imports it links every elliptic curve and its self-tests, half a megabyte.
type (
	pkcs1Public struct {
		N *big.Int
		E int
	}
	pkcs1Private struct {
		Version      int
		N            *big.Int
		E            int
		D, P, Q      *big.Int
		DP, DQ, QInv *big.Int     `asn1:"optional"`
		More         []pkcs1Prime `asn1:"optional,omitempty"`
	}
	pkcs1Prime struct{ Prime, Exponent, Coefficient *big.Int }
)

var errNotPositive = errors.New("the key contains zero or a negative value")

// parsePKCS1Public parses an RSAPublicKey.
func parsePKCS1Public(der []byte) (*rsa.PublicKey, error) {
	var key pkcs1Public
	rest, err := asn1.Unmarshal(der, &key)
	switch {
	case err != nil:
		return nil, err
	case len(rest) > 0:
		return nil, errTrailing
	case !positive(key.N) || key.E <= 0:
		return nil, errNotPositive
	case key.E > math.MaxInt32:
		return nil, errors.New("the public exponent is too large")
	}
	return &rsa.PublicKey{N: key.N, E: key.E}, nil
}

// marshalPKCS1Public encodes an RSAPublicKey.
func marshalPKCS1Public(key *rsa.PublicKey) ([]byte, error) {
	return asn1.Marshal(pkcs1Public{N: key.N, E: key.E})
}

// parsePKCS1Private parses an RSAPrivateKey and checks that its numbers belong together.
func parsePKCS1Private(der []byte) (*rsa.PrivateKey, error) {
	var k pkcs1Private
	rest, err := asn1.Unmarshal(der, &k)
	switch {
	case err != nil:
		return nil, err
	case len(rest) > 0:
		return nil, errTrailing
	case k.Version > 1:
		return nil, errors.New("the version of the private key is unknown")
	case !positive(k.N, k.D, k.P, k.Q) || !absentOrPositive(k.DP, k.DQ, k.QInv):
		return nil, errNotPositive
	}
	key := &rsa.PrivateKey{PublicKey: rsa.PublicKey{N: k.N, E: k.E}, D: k.D,
		Primes: []*big.Int{k.P, k.Q}}
	key.Precomputed.Dp, key.Precomputed.Dq, key.Precomputed.Qinv = k.DP, k.DQ, k.QInv
	for _, more := range k.More {
		if !positive(more.Prime) {
			return nil, errNotPositive
		}
		key.Primes = append(key.Primes, more.Prime)
	}
	key.Precompute()
	if err := key.Validate(); err != nil {
		return nil, err
	}
	return key, nil
}

// marshalPKCS1Private encodes an RSAPrivateKey.
func marshalPKCS1Private(key *rsa.PrivateKey) ([]byte, error) {
	key.Precompute()
	pre := &key.Precomputed
	k := pkcs1Private{N: key.N, E: key.E, D: key.D, P: key.Primes[0], Q: key.Primes[1],
		DP: pre.Dp, DQ: pre.Dq, QInv: pre.Qinv}
	//nolint:staticcheck // keys of more than two primes still exist
	for i, v := range pre.CRTValues {
		k.Version = 1
		k.More = append(k.More, pkcs1Prime{key.Primes[2+i], v.Exp, v.Coeff})
	}
	return asn1.Marshal(k)
}

// positive reports whether all numbers are there and greater than zero.
func positive(numbers ...*big.Int) bool {
	for _, n := range numbers {
		if n == nil || n.Sign() <= 0 {
			return false
		}
	}
	return true
}

func absentOrPositive(numbers ...*big.Int) bool {
	for _, n := range numbers {
		if n != nil && n.Sign() <= 0 {
			return false
		}
	}
	return true
}
