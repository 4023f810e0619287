package archive

import (
	"archive/zip"
	"compress/flate"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"github.com/brineproject/brine/data"
)

// encrypted reports whether a member needs a password.
func encrypted(f *zip.File) bool { return f.Flags&1 != 0 }

// cipherHeader is the number of random bytes before the content.
const cipherHeader = 12

// decrypted opens a password-protected member with the PKWARE cipher, "traditional encryption" of
// APPNOTE.TXT 6.1. AES is not supported.
func decrypted(f *zip.File, password []byte) (io.ReadCloser, error) {
	raw, err := f.OpenRaw()
	if err != nil {
		return nil, err
	}
	c := newCipher(raw, password)
	var noise [cipherHeader]byte
	if _, err := io.ReadFull(c, noise[:]); err != nil {
		return nil, err
	}
	check := byte(f.CRC32 >> 24)
	if f.Flags&8 != 0 {
		check = byte(f.ModifiedTime >> 8) // the check byte is taken from the time
	}
	if noise[cipherHeader-1] != check {
		return nil, fmt.Errorf("Bad password for file %s", data.Repr(f.Name)) //nolint:staticcheck // Python's text
	}
	sum := &summed{want: f.CRC32, hash: crc32.NewIEEE(), name: f.Name}
	switch f.Method {
	case zip.Store:
		sum.Reader = c
	case zip.Deflate:
		sum.Reader = flate.NewReader(c)
	default:
		return nil, errors.New("That compression method is not supported") //nolint:staticcheck // Python's text
	}
	sum.Reader = io.LimitReader(sum.Reader, int64(f.UncompressedSize64))
	return sum, nil
}

// A cipher decrypts the data that it reads.
type cipher struct {
	from io.Reader
	keys [3]uint32
}

func newCipher(from io.Reader, password []byte) *cipher {
	c := &cipher{from, [3]uint32{0x12345678, 0x23456789, 0x34567890}}
	for _, b := range password {
		c.update(b)
	}
	return c
}

func (c *cipher) update(b byte) {
	c.keys[0] = crc(c.keys[0], b)
	c.keys[1] = (c.keys[1]+c.keys[0]&0xff)*134775813 + 1
	c.keys[2] = crc(c.keys[2], byte(c.keys[1]>>24))
}

func crc(sum uint32, b byte) uint32 { return crc32.IEEETable[byte(sum)^b] ^ sum>>8 }

// Read reads and decrypts data.
func (c *cipher) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	for i := range p[:n] {
		k := c.keys[2] | 2
		p[i] ^= byte(k * (k ^ 1) >> 8)
		c.update(p[i])
	}
	return n, err
}

// A summed verifies the checksum of the data at the end.
type summed struct {
	io.Reader

	hash hash.Hash32
	want uint32
	name string
}

// Read reads data. At the end it returns an error if the checksum is wrong.
func (s *summed) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.hash.Write(p[:n])
	if errors.Is(err, io.EOF) && s.hash.Sum32() != s.want {
		return n, fmt.Errorf("Bad CRC-32 for file %s", data.Repr(s.name)) //nolint:staticcheck // Python's text
	}
	return n, err
}

// Close does nothing.
func (s *summed) Close() error { return nil }
