package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/yaml"
)

// DefaultLimit is Salt's default for max_request_body_size, in bytes.
const DefaultLimit = 1 << 20

// A body of JSON holds at most one value for each bytesPerValue bytes of its limit. YAML, also in
// the arguments of a form, holds at most one for each bytesPerNode, because reading it takes ten
// times the memory. Small limits allow minValues of either. maxDepth is the maximum nesting: the
// levels of a message to a master (payload.WireLimits), less those around the body.
const (
	bytesPerValue = 16
	bytesPerNode  = 64
	minValues     = 1000
	maxDepth      = 100
)

// A Body is the body of a request. The zero value is that of a request without one.
type Body struct {
	Raw    []byte // as received; valid UTF-8
	Value  any    // decoded; nil if there is no body
	Chunks int    // maximum chunks that Low returns; 0 means 1000
}

// Read reads the body of r and decodes it by its Content-Type, whose parameters are ignored:
//
//	application/x-www-form-urlencoded    a *data.Map; see below
//	application/json
//	application/x-yaml, text/yaml
//	text/plain                           JSON, or else the text
//
// In a form, a repeated key is a list and a field without a value does not count. The values of
// arg, which is always a list, and of kwarg are parsed like arguments on a command line.
//
// limit is the maximum size in bytes; 0 and less mean DefaultLimit. The error is an *Error with
// status 413 for a larger body, 408 if the connection's read deadline passed, 406 for another or no
// Content-Type, and 400 if the body is incomplete or invalid. The caller sets the deadline.
func Read(r *http.Request, limit int64) (*Body, error) {
	if limit <= 0 {
		limit = DefaultLimit
	}
	raw, err := readRaw(r, limit)
	if err != nil {
		return nil, err
	}
	if len(raw) == 0 {
		return &Body{}, nil
	}
	v, err := decode(mediaType(r.Header.Get("Content-Type")), raw, limit)
	if err != nil {
		return nil, err
	}
	return &Body{Raw: raw, Value: v}, nil
}

// Text returns the body as received.
func (b *Body) Text() string { return string(b.Raw) }

// Post returns the value for a hook's event: an empty map stands for each value that Python counts
// as false.
func (b *Body) Post() any {
	if !data.Truth(b.Value) {
		return data.NewMap()
	}
	return b.Value
}

func readRaw(r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	if r.Body == nil {
		return nil, nil
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	switch {
	case int64(len(raw)) > limit:
		return nil, tooLarge(limit)
	case err != nil:
		return nil, readError(err)
	}
	return raw, nil
}

func tooLarge(limit int64) error {
	return &Error{Status: http.StatusRequestEntityTooLarge,
		Text: fmt.Sprintf("The request body is larger than %d bytes", limit)}
}

func readError(err error) error {
	var large *http.MaxBytesError
	var network net.Error
	switch {
	case errors.As(err, &large): // the caller limits the body too
		return tooLarge(large.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &network) && network.Timeout():
		return &Error{http.StatusRequestTimeout, "The request body did not arrive in time", err}
	}
	return &Error{http.StatusBadRequest, "The request body is incomplete", err}
}

func mediaType(header string) string {
	kind, _, _ := strings.Cut(header, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// decode returns the value of raw, a body for which that limit in bytes holds.
func decode(kind string, raw []byte, limit int64) (any, error) {
	values, nodes := int(max(limit/bytesPerValue, minValues)), int(max(limit/bytesPerNode, minValues))
	switch kind {
	case "application/x-www-form-urlencoded":
		return decodeForm(raw, nodes)
	case "application/json":
		v, err := decodeJSON(raw, values)
		return v, invalid("Invalid JSON document", err)
	case "application/x-yaml", "text/yaml":
		v, err := decodeYAML(raw, nodes)
		return v, invalid("Invalid YAML document", err)
	case "text/plain":
		return decodeText(raw, values)
	}
	return nil, &Error{Status: http.StatusNotAcceptable, Text: "Content type not supported"}
}

// invalid returns err as the error of a document that the client must correct.
func invalid(text string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{http.StatusBadRequest, text, err}
}

var errNotText = errors.New("the text is not UTF-8")

func decodeJSON(raw []byte, values int) (any, error) {
	if !utf8.Valid(raw) {
		return nil, errNotText
	}
	text := string(raw)
	if err := measureJSON(text, values); err != nil {
		return nil, err
	}
	return pyjson.Load(text)
}

func decodeYAML(raw []byte, nodes int) (any, error) {
	if !utf8.Valid(raw) {
		return nil, errNotText
	}
	return yaml.Load(raw, yaml.Options{Size: len(raw), Depth: maxDepth, Nodes: nodes})
}

func decodeText(raw []byte, values int) (any, error) {
	if !utf8.Valid(raw) {
		return nil, invalid("Invalid text", errNotText)
	}
	if v, err := decodeJSON(raw, values); err == nil {
		return v, nil
	}
	return string(raw), nil
}

// maxDigits is the maximum length of a number; Python's int has the same limit.
const maxDigits = 4300

// measureJSON returns an error if text is a document with too many values, levels or digits. Of
// text that is no JSON it may accept anything.
func measureJSON(text string, values int) error {
	found, depth, digits := 1, 0, 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= '0' && c <= '9' {
			digits++
		} else {
			digits = 0
		}
		switch c {
		case '"':
			i += stringLen(text[i:]) - 1
		case ',':
			found++
		case '[', '{':
			found++
			depth++
		case ']', '}':
			depth--
		}
		if err := exceeded(found, depth, digits, values); err != nil {
			return err
		}
	}
	return nil
}

func exceeded(found, depth, digits, values int) error {
	switch {
	case found > values:
		return fmt.Errorf("more than %d values", values)
	case depth > maxDepth:
		return fmt.Errorf("more than %d levels of nesting", maxDepth)
	case digits > maxDigits:
		return fmt.Errorf("a number of more than %d digits", maxDigits)
	}
	return nil
}

// stringLen returns the length of the JSON string that text begins with, quotes included.
func stringLen(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}
