package plist

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/brineproject/brine/data"
)

// isXML recognizes XML by its first bytes, as plistlib does.
func isXML(text []byte) bool {
	for _, start := range []string{"<?xml", "<plist"} {
		wideStart := strings.Join(strings.Split(start, ""), "\x00")
		for _, begin := range []string{start, "\xef\xbb\xbf" + start, "\xfe\xff\x00" + wideStart,
			"\xff\xfe" + wideStart + "\x00"} {
			if bytes.HasPrefix(text, []byte(begin)) {
				return true
			}
		}
	}
	return false
}

// plain returns XML as UTF-8 without a byte order mark.
func plain(text []byte) ([]byte, error) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(text, []byte("\xef\xbb\xbf")):
		return text[3:], nil
	case bytes.HasPrefix(text, []byte("\xfe\xff")):
		order = binary.BigEndian
	case bytes.HasPrefix(text, []byte("\xff\xfe")):
		order = binary.LittleEndian
	default:
		return text, nil
	}
	if len(text)%2 != 0 {
		return nil, errors.New("partial character")
	}
	units := make([]uint16, len(text)/2-1)
	for i := range units {
		units[i] = order.Uint16(text[2+2*i:])
	}
	return []byte(string(utf16.Decode(units))), nil
}

// xmlReader handles elements, like plistlib's parser.
type xmlReader struct {
	line  func() int // of the element
	stack []*frame
	root  any
	chars strings.Builder
	parts int
}

// frame is an unfinished list or dictionary.
type frame struct {
	into  *data.Map // nil for a list
	list  []any
	key   string
	keyed bool // there is a key without a value
}

// value returns the value of a frame.
func (f *frame) value() any {
	if f.into != nil {
		return f.into
	}
	if f.list == nil {
		return []any{}
	}
	return f.list
}

func readXML(text []byte) (any, error) {
	text, err := plain(text)
	if err != nil {
		return nil, err
	}
	if text, err = decoded(text); err != nil {
		return nil, err
	}
	r := &xmlReader{}
	if err := (&scanner{text: string(text), to: r}).run(); err != nil {
		return nil, err
	}
	return r.root, nil
}

// encodingForm matches the encoding in the declaration of a document.
var encodingForm = regexp.MustCompile(`^<\?xml[^>]*?\sencoding\s*=\s*["']([^"']*)["']`)

// decoded decodes a text from the encoding in its declaration, if expat supports it. Text with a
// byte order mark was converted to UTF-8 before.
func decoded(text []byte) ([]byte, error) {
	m := encodingForm.FindSubmatch(text[:min(len(text), 1000)])
	if m == nil {
		return text, nil
	}
	switch name := strings.ToLower(string(m[1])); name {
	case "utf-8", "utf-16", "us-ascii":
		return text, nil
	case "iso-8859-1":
		runes := make([]rune, len(text))
		for i, c := range text {
			runes[i] = rune(c)
		}
		return []byte(string(runes)), nil
	default:
		return nil, fmt.Errorf("unknown encoding %.40q: line 1", name)
	}
}

// text returns the characters since the last element, and forgets them.
func (r *xmlReader) text() string {
	s := r.chars.String()
	r.chars.Reset()
	return s
}

func (r *xmlReader) top() *frame {
	if len(r.stack) == 0 {
		return nil
	}
	return r.stack[len(r.stack)-1]
}

func (r *xmlReader) begin(name string) error {
	r.chars.Reset()
	if name != "dict" && name != "array" {
		return nil
	}
	f := &frame{}
	if name == "dict" {
		f.into = &data.Map{}
	}
	if err := r.fits(); err != nil {
		return err
	}
	if r.stack = append(r.stack, f); len(r.stack) > maxDepth {
		return errDepth
	}
	return nil
}

// fits returns an error if a value may not appear here.
func (r *xmlReader) fits() error {
	if r.parts++; r.parts > maxParts {
		return errParts
	}
	if f := r.top(); f != nil && f.into != nil && !f.keyed {
		return fmt.Errorf("unexpected element at line %d", r.line())
	}
	return nil
}

// put adds a value to the current frame.
func (r *xmlReader) put(v any) {
	f := r.top()
	switch {
	case f == nil:
		r.root = v
	case f.into != nil:
		f.into.Set(f.key, v)
		f.keyed = false
	default:
		f.list = append(f.list, v)
	}
}

func (r *xmlReader) end(name string) error {
	switch name {
	case "key":
		f := r.top()
		if f == nil {
			return errors.New("list index out of range")
		}
		if f.into == nil || f.keyed && f.key != "" {
			return fmt.Errorf("unexpected key at line %d", r.line())
		}
		f.key, f.keyed = r.text(), true
		return nil
	case "dict", "array":
		f := r.top()
		if f.keyed {
			return fmt.Errorf("missing value for key '%s' at line %d", f.key, r.line())
		}
		r.stack = r.stack[:len(r.stack)-1]
		r.put(f.value())
		return nil
	}
	read := map[string]func(string) (any, error){
		"true":    func(string) (any, error) { return true, nil },
		"false":   func(string) (any, error) { return false, nil },
		"string":  func(s string) (any, error) { return s, nil },
		"integer": integer, "real": float, "data": base64Of, "date": date,
	}[name]
	if read == nil {
		return nil
	}
	text := ""
	if name != "true" && name != "false" {
		text = r.text()
	}
	v, err := read(text)
	if err == nil {
		err = r.fits()
	}
	if err == nil {
		r.put(v)
	}
	return err
}

// maxDigits is the maximum number of digits for Python's int().
const maxDigits = 4300

// integer parses as int() does, and hexadecimal digits after 0x.
func integer(raw string) (any, error) {
	base, text := 10, strings.TrimSpace(raw)
	if strings.HasPrefix(raw, "0x") || strings.HasPrefix(raw, "0X") {
		base, text = 16, text[2:]
	}
	digits := strings.TrimLeft(text, "+-")
	n, ok := new(big.Int), false
	if len(text)-len(digits) <= 1 && digits != "" && !strings.Contains(digits, "__") &&
		digits[0] != '_' && digits[len(digits)-1] != '_' &&
		len(digits) <= maxDigits && (base == 10 || digits == text) {
		n, ok = n.SetString(strings.ReplaceAll(text, "_", ""), base)
	}
	if !ok {
		return nil, fmt.Errorf("invalid literal for int() with base %d: %s", base, data.Repr(raw))
	}
	return number(n), nil
}

// float parses as float() does.
func float(raw string) (any, error) {
	text := strings.TrimSpace(raw)
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if errors.Is(err, strconv.ErrRange) {
		err = nil
	}
	if err != nil || strings.ContainsAny(text, "xX") || strings.Contains(text, "__") ||
		strings.HasPrefix(text, "_") || strings.HasSuffix(text, "_") {
		return nil, fmt.Errorf("could not convert string to float: %s", data.Repr(raw))
	}
	return f, nil
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// base64Of decodes base64 as Python's binascii.a2b_base64: other characters are ignored, and
// padding ends it.
func base64Of(text string) (any, error) {
	out := []byte{}
	have, pads, left := 0, 0, 0
	for i := range len(text) {
		c := text[i]
		if c == '=' {
			if pads++; have >= 2 && have+pads >= 4 {
				return out, nil
			}
			continue
		}
		v := strings.IndexByte(alphabet, c)
		if v < 0 {
			continue
		}
		pads = 0
		switch have {
		case 0:
			have, left = 1, v
		case 1:
			out = append(out, byte(left<<2|v>>4))
			have, left = 2, v&0xF
		case 2:
			out = append(out, byte(left<<4|v>>2))
			have, left = 3, v&3
		case 3:
			out = append(out, byte(left<<6|v))
			have, left = 0, 0
		}
	}
	switch have {
	case 0:
		return out, nil
	case 1:
		return nil, fmt.Errorf("Invalid base64-encoded string: number of data characters (%d) cannot be 1 more than a multiple of 4", //nolint:staticcheck // Python's text
			len(out)/3*4+1)
	}
	return nil, errors.New("Incorrect padding") //nolint:staticcheck // Python's text
}

// dateForm matches the beginning of a date.
var dateForm = regexp.MustCompile(`^(\d\d\d\d)(?:-(\d\d)(?:-(\d\d)(?:T(\d\d)(?::(\d\d)(?::(\d\d))?)?)?)?)?Z`)

func date(text string) (any, error) {
	m := dateForm.FindStringSubmatch(text)
	if m == nil {
		return nil, errors.New("'NoneType' object has no attribute 'groupdict'")
	}
	var n [6]int
	for i, s := range m[1:] {
		n[i], _ = strconv.Atoi(s)
	}
	last := time.Date(n[0], time.Month(n[1])+1, 0, 0, 0, 0, 0, time.UTC).Day() // of the month
	switch {
	case m[2] == "":
		return nil, errors.New("function missing required argument 'month' (pos 2)")
	case m[3] == "":
		return nil, errors.New("function missing required argument 'day' (pos 3)")
	case n[0] == 0:
		return nil, errors.New("year 0 is out of range")
	case n[1] < 1 || n[1] > 12:
		return nil, errors.New("month must be in 1..12")
	case n[2] < 1 || n[2] > last:
		return nil, errors.New("day is out of range for month")
	case n[3] > 23:
		return nil, errors.New("hour must be in 0..23")
	case n[4] > 59:
		return nil, errors.New("minute must be in 0..59")
	case n[5] > 59:
		return nil, errors.New("second must be in 0..59")
	}
	return time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], 0, time.UTC), nil
}
