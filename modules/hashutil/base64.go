package hashutil

import (
	"context"
	"encoding/base64"
	"io"
	"os"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
)

// base64B64encode encodes a string as base64 on one line.
//
// CLI Example:
//
//	salt '*' hashutil.base64_b64encode 'get salted'
func (m *module) base64B64encode(_ context.Context, a instrArgs) (any, error) {
	b, err := bytesOf(a.Instr)
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.EncodeToString(b), nil
}

// base64Encodestring encodes a string as base64 in lines of 76 characters.
//
// CLI Example:
//
//	salt '*' hashutil.base64_encodestring 'get salted'
func (m *module) base64Encodestring(_ context.Context, a instrArgs) (any, error) {
	b, err := bytesOf(a.Instr)
	if err != nil {
		return nil, err
	}
	return inLines(b), nil
}

// inLines encodes bytes as base64, 57 bytes a line.
func inLines(b []byte) string {
	var out strings.Builder
	for len(b) > 0 {
		n := min(57, len(b))
		out.WriteString(base64.StdEncoding.EncodeToString(b[:n]) + "\n")
		b = b[n:]
	}
	return out.String()
}

// base64B64decode decodes a base64 string. Characters outside the base64 alphabet are ignored.
//
// CLI Example:
//
//	salt '*' hashutil.base64_b64decode 'Z2V0IHNhbHRlZA=='
func (m *module) base64B64decode(_ context.Context, a instrArgs) (any, error) {
	return decoded(a.Instr)
}

// base64Decodestring decodes a base64 string of one or several lines. Characters outside the base64
// alphabet are ignored.
//
// CLI Example:
//
//	salt '*' hashutil.base64_decodestring instr='Z2V0IHNhbHRlZAo='
func (m *module) base64Decodestring(_ context.Context, a instrArgs) (any, error) {
	return decoded(a.Instr)
}

func decoded(v any) (any, error) {
	b, err := bytesOf(v)
	if err != nil {
		return nil, err
	}
	out, err := decode(b)
	switch {
	case err != nil:
		return nil, err
	case utf8.Valid(out):
		return string(out), nil
	}
	return out, nil
}

// decode decodes base64 as Python's binascii.a2b_base64 does: other characters are ignored, and
// decoding stops after full padding.
func decode(in []byte) ([]byte, error) {
	var out []byte
	var bits uint32
	n, pads := 0, 0
	for _, c := range in {
		if c == '=' {
			if pads++; n >= 2 && n+pads >= 4 {
				return out, nil
			}
			continue
		}
		v := strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
			c)
		if v < 0 {
			continue
		}
		pads = 0
		bits = bits<<6 | uint32(v)
		switch n {
		case 1:
			out = append(out, byte(bits>>4))
		case 2:
			out = append(out, byte(bits>>2))
		case 3:
			out = append(out, byte(bits))
		}
		n = (n + 1) % 4
	}
	switch n {
	case 0:
		return out, nil
	case 1:
		return nil, loader.Exception("binascii.Error",
			"Invalid base64-encoded string: number of data characters (%d) cannot be 1 more than a multiple of 4",
			len(out)/3*4+1)
	}
	return nil, loader.Exception("binascii.Error", "Incorrect padding")
}

type encodefileArgs struct{ Fname string }

// base64Encodefile encodes the content of a file as base64, in lines of 76 characters.
//
// CLI Example:
//
//	salt '*' hashutil.base64_encodefile /path/to/binary_file
func (m *module) base64Encodefile(_ context.Context, a encodefileArgs) (any, error) {
	f, err := os.OpenFile(a.Fname, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, loader.OSError(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil, loader.Execution("read %s: not a regular file, so reading it may never end",
			a.Fname)
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, loader.OSError(err)
	}
	return inLines(b), nil
}

type decodefileArgs struct {
	Instr   any
	Outfile string
}

// base64Decodefile decodes a base64 string and writes the result to a file.
//
// CLI Example:
//
//	salt '*' hashutil.base64_decodefile instr='Z2V0IHNhbHRlZAo=' outfile='/path/to/binary_file'
func (m *module) base64Decodefile(_ context.Context, a decodefileArgs) (any, error) {
	text, ok := a.Instr.(string)
	if !ok {
		return nil, loader.TypeError("initial_value must be str or None, not %s",
			loader.TypeName(a.Instr))
	}
	var all []byte
	for line := range strings.Lines(text) {
		if strings.IndexFunc(line, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 {
			return nil, loader.Exception("ValueError",
				"string argument should contain only ASCII characters")
		}
		b, err := decode([]byte(line))
		if err != nil {
			return nil, err
		}
		all = append(all, b...)
	}
	if err := put(a.Outfile, all); err != nil {
		return nil, loader.OSError(err)
	}
	return true, nil
}

// put replaces the content of an existing file atomically, and keeps its owners and mode. Links are
// followed. A path that is not a regular file is opened and written to, and a new file gets the
// mode that the umask leaves.
func put(path string, body []byte) error {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return os.WriteFile(path, body, 0o666)
	}
	return atomicfile.Write(path, body, atomicfile.Options{Follow: true, Keep: true})
}
