package memcached

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Limits of an exchange.
const (
	limit    = 10 * time.Second
	maxKey   = 250
	maxValue = 128 << 20 // bytes; the largest item that memcached can be configured for
)

// The flags of the library python-memcached.
const (
	flagPickle     = 1
	flagInteger    = 2
	flagLong       = 4
	flagCompressed = 8
	flagText       = 16
)

// errDown is the error of a server that does not answer.
var errDown = loader.Execution("memcached server is down or does not exist")

// A conn is a connection to a server.
type conn struct {
	net.Conn
	r *bufio.Reader
}

// dial connects to a server. The connection ends with ctx.
func dial(ctx context.Context, host, port string) (*conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, errDown
	}
	return &conn{c, bufio.NewReader(c)}, nil
}

// line reads a line of an answer.
func (c *conn) line() (string, error) {
	text, err := c.r.ReadSlice('\n')
	if err != nil {
		return "", fmt.Errorf("read the answer of memcached: %w", err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// command sends a command, with a block of data if that is not nil, and returns the first line of the answer.
func (c *conn) command(command string, block []byte) (string, error) {
	text := append([]byte(command), "\r\n"...)
	if block != nil {
		text = append(append(text, block...), "\r\n"...)
	}
	if _, err := c.Write(text); err != nil {
		return "", fmt.Errorf("send a command to memcached: %w", err)
	}
	return c.line()
}

// maxStats is the most statistics that are read.
const maxStats = 10000

// stats returns the statistics of the server.
func (c *conn) stats() (*data.Map, error) {
	all := &data.Map{}
	line, err := c.command("stats", nil)
	for err == nil && line != "END" {
		words := strings.SplitN(line, " ", 3)
		if len(words) != 3 || words[0] != "STAT" || all.Len() >= maxStats {
			return nil, errors.New("memcached sends statistics that cannot be read")
		}
		all.Set(words[1], words[2])
		line, err = c.line()
	}
	return all, err
}

// get returns a value, or nil if there is none.
func (c *conn) get(key string) (any, error) {
	line, err := c.command("get "+key, nil)
	if err != nil || line == "END" {
		return nil, err
	}
	var flags, size int
	if n, err := fmt.Sscanf(line, "VALUE "+strings.ReplaceAll(key, "%", "%%")+" %d %d", &flags, &size); n != 2 ||
		err != nil || size < 0 || size > maxValue {
		return nil, errors.New("memcached sends a value that cannot be read")
	}
	raw, err := io.ReadAll(io.LimitReader(c.r, int64(size)+2))
	if err != nil || len(raw) != size+2 {
		return nil, errors.New("memcached sends a value that ends early")
	}
	v, err := decode(flags, raw[:size])
	if err != nil {
		return nil, fmt.Errorf("key '%s': %w", key, err)
	}
	end, err := c.line()
	if err == nil && end != "END" {
		err = errors.New("memcached sends more than one value")
	}
	return v, err
}

// decode returns the value of stored bytes.
func decode(flags int, raw []byte) (any, error) {
	if flags&flagCompressed != 0 {
		z, err := zlib.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil, fmt.Errorf("unpack the value: %w", err)
		}
		if raw, err = io.ReadAll(io.LimitReader(z, maxValue+1)); err != nil {
			return nil, fmt.Errorf("unpack the value: %w", err)
		}
		if len(raw) > maxValue {
			return nil, fmt.Errorf("the value has more than %d bytes", maxValue)
		}
	}
	switch {
	case flags&flagText != 0, flags&^flagCompressed == 0:
		if !utf8.Valid(raw) {
			return raw, nil
		}
		return string(raw), nil
	case flags&(flagInteger|flagLong) != 0:
		n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
		if err != nil {
			return nil, errors.New("the value is not the integer that its flags promise")
		}
		return n, nil
	case flags&flagPickle != 0:
		return nil, errors.New("the value is an object of Python")
	}
	return nil, fmt.Errorf("the value has the unknown flags %d", flags)
}

// encode returns the flags and the bytes of a value. Texts longer than least bytes are compressed, unless
// least is 0.
func encode(v any, least int64) (flags int, raw []byte, err error) {
	switch v := v.(type) {
	case string:
		flags, raw = flagText, []byte(v)
	case []byte:
		raw = v
	case int64:
		return flagInteger, strconv.AppendInt(nil, v, 10), nil
	default:
		return 0, nil, loader.Execution("only texts and integers can be stored, not a value of type %s",
			loader.TypeName(v))
	}
	if least == 0 || int64(len(raw)) <= least {
		return flags, raw, nil
	}
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	if _, err := z.Write(raw); err != nil {
		return 0, nil, err
	}
	if err := z.Close(); err != nil {
		return 0, nil, err
	}
	if packed.Len() < len(raw) {
		return flags | flagCompressed, packed.Bytes(), nil
	}
	return flags, raw, nil
}

// checkKey returns an error for a key that memcached does not take.
func checkKey(key string) error {
	if len(key) > maxKey {
		return loader.Exception("memcache.MemcachedKeyLengthError", "Key length is > %d", maxKey)
	}
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return loader.Exception("memcache.MemcachedKeyCharacterError",
			"Control/space characters not allowed (key=%s)", data.Repr([]byte(key)))
	}
	return nil
}
