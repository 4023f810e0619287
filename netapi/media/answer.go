package media

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/yaml"
)

// Answers sends the answers of a door. It keeps buffers and compressors from one answer to the next: to make
// a compressor costs as much as to compress the grains of some minions. The zero value is ready, and several
// requests may use it.
type Answers struct {
	bodies sync.Pool // of *buffer
	zips   sync.Pool // of *gzip.Writer
}

// Write sends v with status as JSON on one line or as YAML in block style with sorted keys. The
// header Content-Length is set, a HEAD request gets no body, and a body of more than 1 KiB is
// compressed for clients of HTTP/1.1 and later that accept gzip.
//
// v holds the types of package data. What only exists before a value travels in a message is
// written as its receiver would: a set is a list, and an object of another class is a dictionary. What
// data.Raw holds is written as data of the event bus: str is text, and bin is bytes. To JSON it costs
// less than what it holds.
//
// Write returns an *Error with status 500, and has sent nothing, if the format does not have a value
// or key in v, as JSON has no bytes. Another error comes from the connection; the answer has begun.
func (a *Answers) Write(w http.ResponseWriter, r *http.Request, f Format, status int, v any) error {
	text := a.buffer()
	var err error
	if text.b, err = encode(text.b, f, v); err != nil {
		a.keep(text)
		return &Error{http.StatusInternalServerError,
			"Could not serialize the return data from Salt.", err}
	}
	err = a.send(w, r, f.String(), status, text.b)
	if err == nil { // else the connection may still read it
		a.keep(text)
	}
	return err
}

// encode appends v to an empty buffer.
func encode(dst []byte, f Format, v any) ([]byte, error) {
	body, err := encodeAs(dst, f, v)
	if err == nil {
		return body, nil
	}
	if v, err = received(v); err != nil {
		return dst, err
	}
	return encodeAs(dst, f, v)
}

func encodeAs(dst []byte, f Format, v any) ([]byte, error) {
	if f == YAML {
		return yaml.Dump(v, yaml.DumpOptions{Flow: yaml.Block, SortKeys: true, Copies: true})
	}
	text, err := pyjson.Append(dst, v, pyjson.Options{Comma: ", ", Colon: ": ", Raw: appendRaw})
	if err == nil && !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	return text, err
}

// send sends an answer, compressed if the client wants that.
func (a *Answers) send(
	w http.ResponseWriter, r *http.Request, kind string, status int, body []byte,
) (err error) {
	h := w.Header()
	h.Set("Content-Type", kind)
	addVary(h)
	if len(body) >= minCompressed && wantsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		zipped := a.compress(body)
		defer func() {
			if err == nil {
				a.keep(zipped)
			}
		}()
		body = zipped.b
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return nil
	}
	if _, err := w.Write(body); err != nil {
		return fmt.Errorf("send answer of %d bytes: %w", len(body), err)
	}
	return nil
}
