package cluster

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/brineproject/brine/internal/atomicfile"
)

var (
	// ErrSealed is wrapped if a sealed value was changed, moved or made by somebody without the key.
	ErrSealed = errors.New("not sealed by the cluster")
	// ErrUnknownKey is wrapped if a value is sealed with a cluster key that is not in the key file.
	ErrUnknownKey = errors.New("sealed with another cluster key")
	// ErrKeyFile is wrapped if the key file is not safe or not in its form.
	ErrKeyFile = errors.New("bad cluster key file")
)

// The form of a sealed value: version, key id, nonce, and the ciphertext with its tag.
const (
	sealVersion  = 1
	keyIDSize    = 4
	secretSize   = 32
	sealHead     = 1 + keyIDSize + chacha20poly1305.NonceSizeX
	sealOverhead = sealHead + chacha20poly1305.Overhead
	maxKeyFile   = 4096
)

// Purposes of keys: a key derived for one does not open what another sealed.
const (
	forKeys         = "keys"
	forLeases       = "leases"
	forFences       = "fences"
	forMembers      = "members"
	forPublications = "publications"
	forReturns      = "returns"
	forChunks       = "chunks"
	forBus          = "bus"
)

// NewKey writes a new random cluster key to a file that only its owner can read. It does not
// replace a file: the error wraps fs.ErrExist then. All members need a copy of it.
func NewKey(path string) error {
	secret := make([]byte, secretSize)
	rand.Read(secret) // never fails
	err := atomicfile.Write(path, []byte(hex.EncodeToString(secret)+"\n"),
		atomicfile.Options{Mode: 0o600, New: true, Sync: true, SyncDir: true})
	if err != nil {
		return fmt.Errorf("write cluster key: %w", err)
	}
	return nil
}

// A Secret is the content of a key file: one or two cluster keys. Both open values, the first seals
// them.
type Secret struct {
	roots [][]byte
	ids   []string
}

// LoadSecret reads a key file: one or two lines, each with 64 hexadecimal digits. Errors wrap
// ErrKeyFile, also if others than the owner may read the file.
//
// To change the key, add the new one as the second line on all members, restart each, swap the
// lines, restart each, and remove the old one when no value sealed with it is left.
func LoadSecret(path string) (*Secret, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read cluster key: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read cluster key: %w", err)
	}
	if err := checkMode(info); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrKeyFile, path, err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return nil, fmt.Errorf("read cluster key: %w", err)
	}
	secret, err := parseSecret(string(text))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrKeyFile, path, err)
	}
	return secret, nil
}

// checkMode rejects files that are not regular, or that others may read or write.
func checkMode(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return fmt.Errorf("its mode is %#o, so that others have access: set it to 0600", mode)
	}
	return nil
}

// parseSecret never quotes the text in its errors.
func parseSecret(text string) (*Secret, error) {
	lines := strings.Fields(text)
	if len(lines) < 1 || len(lines) > 2 {
		return nil, fmt.Errorf("it has %d keys, allowed are one or two lines", len(lines))
	}
	s := &Secret{}
	for i, line := range lines {
		root, err := hex.DecodeString(line)
		if err != nil || len(root) != secretSize {
			return nil, fmt.Errorf("key %d is not %d hexadecimal digits", i+1, 2*secretSize)
		}
		s.roots = append(s.roots, root)
		s.ids = append(s.ids, string(derive(root, "key id", keyIDSize)))
	}
	if len(s.ids) == 2 && s.ids[0] == s.ids[1] {
		return nil, errors.New("both keys are the same")
	}
	return s, nil
}

// derive returns bytes for a purpose from a cluster key.
func derive(root []byte, purpose string, size int) []byte {
	out, err := hkdf.Key(sha256.New, root, nil, "brine cluster 1 "+purpose, size)
	if err != nil {
		panic(err) // only for sizes beyond 8160 bytes
	}
	return out
}

// Sealer returns the Sealer of a cluster for a purpose.
func (s *Secret) Sealer(cluster, purpose string) *Sealer {
	e := &Sealer{ids: s.ids}
	for _, root := range s.roots {
		aead, err := chacha20poly1305.NewX(derive(root, "seal "+cluster+" "+purpose, secretSize))
		if err != nil {
			panic(err) // only for keys of another size
		}
		e.aeads = append(e.aeads, aead)
	}
	return e
}

// A Sealer encrypts and authenticates values with XChaCha20-Poly1305, whose random nonces may be
// used without counting. It is safe for concurrent use.
type Sealer struct {
	ids   []string
	aeads []cipher.AEAD
}

// Seal returns the sealed value. place, such as the names of bucket and key, is authenticated and
// not part of the result.
func (s *Sealer) Seal(value []byte, place ...string) []byte {
	out := make([]byte, sealHead, sealOverhead+len(value))
	out[0] = sealVersion
	copy(out[1:], s.ids[0])
	nonce := out[1+keyIDSize : sealHead]
	rand.Read(nonce) // never fails
	return s.aeads[0].Seal(out, nonce, value, about(out[:1+keyIDSize], place))
}

// Open returns the value that was sealed for the same place. Errors wrap ErrSealed, or
// ErrUnknownKey if it was sealed with a key that is not in the key file.
func (s *Sealer) Open(sealed []byte, place ...string) ([]byte, error) {
	if len(sealed) < sealOverhead {
		return nil, fmt.Errorf("%w: %d bytes", ErrSealed, len(sealed))
	}
	if sealed[0] != sealVersion {
		return nil, &unknownKeyError{fmt.Sprintf("version %d", sealed[0])}
	}
	head, nonce, text := sealed[:1+keyIDSize], sealed[1+keyIDSize:sealHead], sealed[sealHead:]
	for i, id := range s.ids {
		if id != string(head[1:]) {
			continue
		}
		value, err := s.aeads[i].Open(nil, nonce, text, about(head, place))
		if err != nil {
			return nil, fmt.Errorf("%w: it was changed or moved", ErrSealed)
		}
		return value, nil
	}
	return nil, &unknownKeyError{fmt.Sprintf("%x", head[1:])}
}

// about returns the authenticated data: head, and each part of the place with its length, so that
// no two places have the same form.
func about(head []byte, place []string) []byte {
	out := append([]byte(nil), head...)
	for _, part := range place {
		out = binary.AppendUvarint(out, uint64(len(part)))
		out = append(out, part...)
	}
	return out
}

// isCurrent reports whether a value is sealed with the cluster key that writes.
func (s *Sealer) isCurrent(sealed []byte) bool {
	return len(sealed) > keyIDSize && string(sealed[1:1+keyIDSize]) == s.ids[0]
}
