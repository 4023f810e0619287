package http

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/serializers"
)

// maxBody is the maximum size of a response body in bytes, whatever http_max_body allows.
const maxBody = 100 << 20

// answer converts a response to the result that the arguments request.
func (q *query) answer(answer *http.Response) (*data.Map, error) {
	code := int64(answer.StatusCode)
	if (code < 200 || code > 299) && !q.lenient() {
		reason := http.StatusText(answer.StatusCode)
		if reason == "" {
			reason = "Unknown"
		}
		q.ret.Set("status", code)
		q.ret.Set("error", fmt.Sprintf("HTTP %d: %s", code, reason))
		return q.ret, nil
	}
	raw, err := readAll(answer.Body, q.maxBytes())
	if err != nil {
		return q.failed(err), nil
	}
	if q.k.Value("stream") == true || q.k.Value("handle") == true {
		return data.NewMap("body", raw), nil
	}
	text, err := q.body2text(answer, raw)
	if err != nil {
		return nil, err
	}
	if err := q.keep(answer, text); err != nil {
		return nil, err
	}
	if q.k.Value("status") == true {
		q.ret.Set("status", code)
	}
	if q.k.Value("headers") == true {
		q.ret.Set("headers", headersOf(answer))
	}
	return q.decoded(answer, text)
}

// maxBytes returns the maximum size of a response in bytes.
func (q *query) maxBytes() int64 {
	if n, ok := q.opts.Value("http_max_body").(int64); ok && n > 0 {
		return min(n, maxBody)
	}
	return maxBody
}

func readAll(r io.Reader, most int64) ([]byte, error) {
	src, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(src)) > most {
		err = fmt.Errorf("the response is larger than %d bytes", most)
	}
	return src, err
}

// body2text sets body, and returns the decompressed response as text.
func (q *query) body2text(answer *http.Response, raw []byte) (string, error) {
	plain, err := decompressed(answer.Header.Get("Content-Encoding"), raw, q.maxBytes())
	if err != nil {
		return "", err
	}
	if decode, given := q.k.Get("decode_body"); given && !data.Truth(decode) {
		q.ret.Set("body", raw)
		return string(plain), nil
	}
	text, err := unicodeOf(answer.Header.Get("Content-Type"), plain)
	if err != nil {
		return "", err
	}
	q.ret.Set("body", text)
	return text, nil
}

// decompressed decompresses a body.
func decompressed(coding string, src []byte, most int64) ([]byte, error) {
	switch {
	case len(src) == 0:
		return src, nil
	case coding == "deflate":
		return readAll(flate.NewReader(bytes.NewReader(src)), most)
	case coding == "gzip":
		r, err := gzip.NewReader(bytes.NewReader(src))
		if err != nil {
			return nil, fmt.Errorf("decompress the response: %w", err)
		}
		return readAll(r, most)
	case coding == "sdch":
		return nil, errors.New("SDCH compression is not currently supported")
	case coding == "br":
		return nil, errors.New("Brotli compression is not currently supported") //nolint:staticcheck // Salt's text
	case coding == "compress":
		return nil, errors.New("LZW compression is not currently supported")
	}
	return src, nil
}

// unicodeOf decodes a body: text types by their charset, all others as UTF-8.
func unicodeOf(contentType string, src []byte) (string, error) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || !strings.HasPrefix(kind, "text/") || params["charset"] == "" {
		return utf8Of(src)
	}
	switch name := strings.NewReplacer("_", "-", " ",
		"-").Replace(strings.ToLower(params["charset"])); name {
	case "utf-8", "utf8", "ascii", "us-ascii":
		return utf8Of(src)
	case "latin-1", "latin1", "iso-8859-1", "iso8859-1":
		return charmap.ISO8859_1.NewDecoder().String(string(src))
	case "iso-8859-15", "latin-9":
		return charmap.ISO8859_15.NewDecoder().String(string(src))
	case "iso-8859-2", "latin-2":
		return charmap.ISO8859_2.NewDecoder().String(string(src))
	case "windows-1252", "cp1252":
		return charmap.Windows1252.NewDecoder().String(string(src))
	case "windows-1251", "cp1251":
		return charmap.Windows1251.NewDecoder().String(string(src))
	case "koi8-r":
		return charmap.KOI8R.NewDecoder().String(string(src))
	}
	return "", fmt.Errorf("unknown encoding: %s", params["charset"])
}

// utf8Of returns Python's error for a body that is not UTF-8.
func utf8Of(src []byte) (string, error) {
	for at := 0; at < len(src); {
		r, n := utf8.DecodeRune(src[at:])
		if r != utf8.RuneError || n > 1 {
			at += n
			continue
		}
		what := "invalid continuation byte"
		if b := src[at]; b < 0xc2 || b > 0xf4 {
			what = "invalid start byte"
		} else if !utf8.FullRune(src[at:]) {
			what = "unexpected end of data"
		}
		return "", fmt.Errorf("'utf-8' codec can't decode byte 0x%02x in position %d: %s",
			src[at], at, what)
	}
	return string(src), nil
}

// keep writes the response to the files named by the arguments.
func (q *query) keep(answer *http.Response, text string) error {
	if path := q.k.Value("text_out"); path != nil {
		if err := writeOut(data.Str(path), text); err != nil {
			return err
		}
	}
	if path := q.text("headers_out"); path != "" {
		if _, err := os.Stat(path); err == nil {
			if err := writeOut(path, lines(headersOf(answer))); err != nil {
				return err
			}
		}
	}
	if q.jar != nil {
		if err := q.jar.save(); err != nil {
			return err
		}
	}
	if q.k.Value("persist_session") == true {
		return q.session().keep(answer)
	}
	return nil
}

func writeOut(path, text string) error {
	return atomicfile.Write(path, []byte(text), atomicfile.Options{Mode: 0o644, Keep: true})
}

// headersOf returns the headers of a response by name. Repeated headers are joined by commas.
func headersOf(answer *http.Response) *data.Map {
	all := answer.Header.Clone()
	if len(answer.TransferEncoding) > 0 {
		all["Transfer-Encoding"] = answer.TransferEncoding
	}
	out := data.NewMap()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out.Set(name, strings.Join(all[name], ","))
	}
	return out
}

func lines(headers *data.Map) string {
	var b strings.Builder
	for name, value := range headers.All() {
		fmt.Fprintf(&b, "%s: %s\n", name, value)
	}
	return b.String()
}

// decoded sets dict and text.
func (q *query) decoded(answer *http.Response, text string) (*data.Map, error) {
	wanted := q.k.Value("text") == true
	if q.k.Value("decode") == true {
		kind := q.kind(answer)
		switch kind {
		case "json", "yaml":
			v, err := serializers.Read(kind, text, nil)
			if err != nil {
				return nil, err
			}
			q.ret.Set("dict", v)
		case "xml":
			v, err := elements(text)
			if err != nil {
				return nil, err
			}
			q.ret.Set("dict", v)
		case "plain":
			wanted = true
		default:
			q.ret.Set("error", "Invalid decode_type specified. Valid decode types are: ('json', 'xml', 'yaml', 'plain')")
			return q.ret, nil
		}
		if q.truth("decode_out") {
			if err := writeOut(q.text("decode_out"), text); err != nil {
				return nil, err
			}
		}
	}
	if wanted {
		q.ret.Set("text", text)
	}
	return q.ret, nil
}

// kind returns the decoder for a body.
func (q *query) kind(answer *http.Response) string {
	if kind := q.k.Value("decode_type"); kind != nil && data.Str(kind) != "auto" {
		return data.Str(kind)
	}
	given := answer.Header.Get("Content-Type")
	if given == "" {
		return "json"
	}
	for _, known := range []string{"xml", "json", "yaml"} {
		if strings.Contains(given, known) {
			return known
		}
	}
	return "plain"
}
