package aptsources

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// armored reports whether a key is ASCII-armored.
func armored(key []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(key, "- \r\n\t"), []byte("BEGIN PGP"))
}

// dearmor returns the binary form of all keys in an armored text, as gpg --dearmor does (RFC 9580,
// section 6.2).
func dearmor(text []byte) ([]byte, error) {
	var out []byte
	var b *block
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "-----BEGIN PGP"):
			b = &block{}
		case b == nil:
		case strings.HasPrefix(line, "-----END PGP"):
			octets, err := b.octets()
			if err != nil {
				return nil, err
			}
			out, b = append(out, octets...), nil
		default:
			b.add(line)
		}
	}
	if b != nil || len(out) == 0 {
		return nil, errors.New("the armored key has no end line")
	}
	return out, nil
}

// A block is the content between the first and last line of an armor.
type block struct {
	body     bool // the headers have ended
	text     strings.Builder
	checksum string
}

func (b *block) add(line string) {
	switch {
	case line == "":
		b.body = true
	case !b.body && strings.Contains(line, ": "):
	case strings.HasPrefix(line, "="):
		b.checksum = line[1:]
	default:
		b.body = true
		b.text.WriteString(line)
	}
}

func (b *block) octets() ([]byte, error) {
	octets, err := base64.StdEncoding.DecodeString(b.text.String())
	if err != nil {
		return nil, fmt.Errorf("decode the armored key: %w", err)
	}
	if b.checksum == "" {
		return octets, nil
	}
	sum := crc24(octets)
	want := base64.StdEncoding.EncodeToString([]byte{byte(sum >> 16), byte(sum >> 8), byte(sum)})
	if want != b.checksum {
		return nil, errors.New("the armored key has a wrong checksum")
	}
	return octets, nil
}

// crc24 returns the checksum used in armors (RFC 9580, section 6.1.1).
func crc24(octets []byte) uint32 {
	sum := uint32(0xb704ce)
	for _, o := range octets {
		sum ^= uint32(o) << 16
		for range 8 {
			sum <<= 1
			if sum&0x1000000 != 0 {
				sum ^= 0x1864cfb
			}
		}
	}
	return sum & 0xffffff
}
