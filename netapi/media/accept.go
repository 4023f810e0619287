package media

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// A Format is the form of an answer.
type Format int

// The formats; JSON is the default.
const (
	JSON Format = iota
	YAML
)

// String returns the media type.
func (f Format) String() string {
	if f == YAML {
		return "application/x-yaml"
	}
	return "application/json"
}

const htmlType = "text/html"

// Accept returns the Accept header of r, and whether there is one.
func Accept(r *http.Request) (accept string, sent bool) {
	all := r.Header.Values("Accept")
	return strings.Join(all, ", "), len(all) > 0
}

// Choose returns the format that the client prefers, JSON for an empty accept. It selects as
// CherryPy's tool accept does: ranges of the same q-value are tried in reverse order of their
// texts, so that application/x-yaml comes before application/json, and both before */*. Media types
// may be in any case.
//
// The error is an *Error: 406 if the client accepts neither format, 400 for a q-value that is no
// number.
func Choose(accept string) (Format, error) {
	media := []string{JSON.String(), YAML.String()}
	best, err := match(accept, media)
	switch {
	case err != nil:
		return JSON, err
	case best == "":
		return JSON, notAcceptable(accept, media)
	case best == YAML.String():
		return YAML, nil
	}
	return JSON, nil
}

// WantsHTML reports whether a request gets the page of the option app instead of an answer of the
// API (html_override_tool of Salt's rest_cherrypy): the client prefers HTML, or sent no Accept
// header. Exactly */* is not enough.
//
// Unlike Salt, which takes HTML at any q-value, it compares with the formats of the API: a client
// that sends "application/json, */*" wants no page. The caller asks for GET and HEAD only.
func WantsHTML(accept string, sent bool) bool {
	return !sent || accept != "*/*" && prefersHTML(accept, htmlType, JSON.String(), YAML.String())
}

// prefersHTML reports whether HTML is what accept selects from media.
func prefersHTML(accept string, media ...string) bool {
	best, err := match(accept, media)
	return err == nil && best == htmlType
}

// maxShown limits the characters of a header in an error text.
const maxShown = 1000

func notAcceptable(accept string, media []string) error {
	return &Error{Status: http.StatusNotAcceptable, Text: fmt.Sprintf("Your client sent this Accept "+
		"header: %s. But this resource only emits these media types: %s.", shown(accept),
		strings.Join(media, ", "))}
}

func shown(header string) string {
	if len(header) > maxShown {
		header = header[:maxShown] + "…"
	}
	return strings.ToValidUTF8(header, "\uFFFD")
}

// match returns the first of media that the client prefers, or "" if it accepts none.
func match(accept string, media []string) (string, error) {
	ranges, err := parseAccept(accept)
	if err != nil {
		return "", err
	}
	if len(ranges) == 0 {
		return media[0], nil
	}
	for _, r := range ranges {
		if r.q <= 0 {
			continue
		}
		if i := slices.IndexFunc(media, r.matches); i >= 0 {
			return media[i], nil
		}
	}
	return "", nil
}

// A mediaRange is one element of an Accept header.
type mediaRange struct {
	value string // in lower case, without parameters
	text  string // decides between equal q-values
	q     float64
}

func (r mediaRange) matches(media string) bool {
	if kind, ok := strings.CutSuffix(r.value, "*"); ok && strings.HasSuffix(kind, "/") {
		return r.value == "*/*" || strings.HasPrefix(media, kind)
	}
	return r.value == media
}

// parseAccept returns the ranges of an Accept header, the preferred ones first.
func parseAccept(header string) ([]mediaRange, error) {
	if header == "" {
		return nil, nil
	}
	var ranges []mediaRange
	for _, element := range splitQuoted(header, ',') {
		r, err := parseRange(element)
		if err != nil {
			return nil, err
		}
		ranges = append(ranges, r)
	}
	slices.SortFunc(ranges, func(a, b mediaRange) int {
		return cmp.Or(cmp.Compare(b.q, a.q), strings.Compare(b.text, a.text))
	})
	return ranges, nil
}

func parseRange(element string) (mediaRange, error) {
	parts := splitQuoted(element, ';')
	r := mediaRange{value: strings.ToLower(strings.TrimSpace(parts[0])), q: 1}
	r.text = r.value
	for _, p := range parts[1:] {
		name, value, ok := strings.Cut(p, "=")
		if !ok {
			continue
		}
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		r.text += ";" + name + "=" + value
		if name != "q" {
			continue
		}
		q, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(q) {
			return r, &Error{Status: http.StatusBadRequest,
				Text: fmt.Sprintf("Malformed HTTP header: `%s`", shown(strings.TrimSpace(element)))}
		}
		r.q = q
		break // what follows are extensions, not parameters
	}
	return r, nil
}

// splitQuoted splits s at each separator that is outside of quotation marks. A mark without a
// partner, which can only be the first one, quotes nothing.
func splitQuoted(s string, separator byte) []string {
	var parts []string
	end, quoted := len(s), false
	for i := len(s) - 1; i >= 0; i-- {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == separator && !quoted:
			parts = append(parts, s[i+1:end])
			end = i
		}
	}
	parts = append(parts, s[:end])
	slices.Reverse(parts)
	return parts
}
