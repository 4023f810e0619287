package http

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The two file formats are those of Python's http.cookiejar. libwww-perl's has one line of
// "Set-Cookie3: " and words for each cookie. Netscape's has one line of seven tab-separated fields.

const (
	lwpHead     = "#LWP-Cookies-2.0\n"
	lwpLine     = "Set-Cookie3:"
	mozillaHead = "# Netscape HTTP Cookie File\n# http://curl.haxx.se/rfc/cookie_spec.html\n# This is a generated file!  Do not edit.\n\n"
	httpOnly    = "#HttpOnly_"
	isoTime     = "2006-01-02 15:04:05Z"
)

// mozilla returns cookies in Netscape format.
func mozilla(all []cookie) string {
	var b strings.Builder
	b.WriteString(mozillaHead)
	for _, c := range all {
		if c.httpOnly {
			b.WriteString(httpOnly)
		}
		fields := []string{c.domain, boolean(strings.HasPrefix(c.domain, ".")), c.path,
			boolean(c.secure), strconv.FormatInt(c.expires, 10), c.name, c.value}
		if c.expires == 0 {
			fields[4] = ""
		}
		b.WriteString(strings.Join(fields, "\t") + "\n")
	}
	return b.String()
}

func boolean(is bool) string {
	if is {
		return "TRUE"
	}
	return "FALSE"
}

// parseMozilla parses the Netscape format.
func parseMozilla(src string) ([]cookie, error) {
	first, rest, _ := strings.Cut(src, "\n")
	if !strings.HasPrefix(first, "# HTTP Cookie File") &&
		!strings.HasPrefix(first, "# Netscape HTTP Cookie File") {
		return nil, errors.New("it does not look like a Netscape format cookies file")
	}
	var all []cookie
	for line := range strings.Lines(rest) {
		line = strings.TrimRight(line, "\r\n")
		line, hidden := strings.CutPrefix(line, httpOnly)
		if start := strings.TrimSpace(line); start == "" || start[0] == '#' || start[0] == '$' {
			continue
		}
		c, err := mozillaCookie(strings.Split(line, "\t"))
		if err != nil {
			return nil, err
		}
		c.httpOnly = hidden
		if all = append(all, c); len(all) > maxCookies {
			return nil, fmt.Errorf("more than %d cookies", maxCookies)
		}
	}
	return all, nil
}

func mozillaCookie(f []string) (c cookie, err error) {
	if len(f) != 7 {
		return c, fmt.Errorf("a line has %d fields, not 7", len(f))
	}
	c = cookie{domain: f[0], dotted: strings.HasPrefix(f[0], "."), path: f[2],
		secure: f[3] == "TRUE", name: f[5], value: f[6]}
	if c.dotted != (f[1] == "TRUE") {
		return c, errors.New("a domain and its flag do not agree")
	}
	if c.name == "" {
		c.name, c.value = c.value, ""
	}
	if f[4] != "" {
		if c.expires, err = strconv.ParseInt(f[4], 10, 64); err != nil {
			return c, fmt.Errorf("%q is not a time", f[4])
		}
	}
	return c, nil
}

// lwp returns cookies in libwww-perl format.
func lwp(all []cookie) string {
	var b strings.Builder
	b.WriteString(lwpHead)
	plain := regexp.MustCompile(`^\w+$`)
	for _, c := range all {
		b.WriteString(lwpLine + " ")
		for i, p := range c.pairs() {
			if i > 0 {
				b.WriteString("; ")
			}
			b.WriteString(p.name)
			switch {
			case p.bare:
			case plain.MatchString(p.value):
				b.WriteString("=" + p.value)
			default:
				b.WriteString(`="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(p.value) +
					`"`)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// pairs returns the attributes of a cookie in the order of the libwww-perl format.
func (c cookie) pairs() []pair {
	out := []pair{{name: c.name, value: c.value}, {name: "path", value: c.path},
		{name: "domain", value: c.domain}}
	flag := func(name string, is bool) {
		if is {
			out = append(out, pair{name: name, bare: true})
		}
	}
	flag("path_spec", c.pathGiven)
	flag("domain_dot", c.dotted)
	flag("secure", c.secure)
	if c.expires != 0 {
		out = append(out, pair{name: "expires",
			value: time.Unix(c.expires, 0).UTC().Format(isoTime)})
	} else {
		flag("discard", true)
	}
	if c.httpOnly {
		out = append(out, pair{name: "HttpOnly", value: "None"})
	}
	out = append(out, c.more...)
	return append(out, pair{name: "version", value: "0"})
}

// parseLWP parses the libwww-perl format.
func parseLWP(src string) ([]cookie, error) {
	first, rest, _ := strings.Cut(src, "\n")
	if !strings.HasPrefix(first, "#LWP-Cookies-") {
		return nil, errors.New("it does not look like a Set-Cookie3 (LWP) format file")
	}
	var all []cookie
	for line := range strings.Lines(rest) {
		body, ok := strings.CutPrefix(line, lwpLine)
		if !ok {
			continue
		}
		for _, list := range words(strings.TrimSpace(body)) {
			c, err := lwpCookie(list)
			if err != nil {
				return nil, err
			}
			if all = append(all, c); len(all) > maxCookies {
				return nil, fmt.Errorf("more than %d cookies", maxCookies)
			}
		}
	}
	return all, nil
}

func lwpCookie(list []pair) (c cookie, err error) {
	c.name, c.value = list[0].name, list[0].value
	for _, p := range list[1:] {
		switch strings.ToLower(p.name) {
		case "path":
			c.path = p.value
		case "domain":
			c.domain = p.value
		case "path_spec":
			c.pathGiven = true
		case "domain_dot":
			c.dotted = true
		case "secure":
			c.secure = true
		case "httponly":
			c.httpOnly = true
		case "version", "discard":
		case "expires":
			at, bad := time.Parse(isoTime, p.value)
			if bad != nil || at.Unix() <= 0 {
				return c, fmt.Errorf("%q is not a time", p.value)
			}
			c.expires = at.Unix()
		default:
			c.more = append(c.more, p)
		}
	}
	if c.domain == "" || c.path == "" {
		return c, fmt.Errorf("the cookie %q has no domain or no path", c.name)
	}
	return c, nil
}

// words splits a header into lists of pairs: commas end a list, and semicolons and spaces a pair.
func words(text string) (all [][]pair) {
	var list []pair
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimLeft(text, " \t\r\n\v\f") {
		end := strings.IndexAny(text, "=; \t\r\n\v\f,")
		switch {
		case end == 0 && text[0] == ',':
			if list != nil {
				all = append(all, list)
			}
			list, text = nil, text[1:]
		case end == 0:
			text = text[1:]
		default:
			var p pair
			p, text = word(text, end)
			list = append(list, p)
		}
	}
	if list != nil {
		all = append(all, list)
	}
	return all
}

// word splits off the first pair of a text. Its name ends at the index end, or at the end of the
// text if end is negative.
func word(text string, end int) (p pair, rest string) {
	if end < 0 {
		return pair{name: text, bare: true}, ""
	}
	p.name = text[:end]
	rest = strings.TrimLeft(text[end:], " \t\r\n\v\f")
	value, ok := strings.CutPrefix(rest, "=")
	if !ok {
		p.bare = true
		return p, rest
	}
	value = strings.TrimLeft(value, " \t\r\n\v\f")
	if quoted, left, ok := unquote(value); ok {
		p.value = quoted
		return p, left
	}
	if end = strings.IndexAny(value, "; \t\r\n\v\f,"); end < 0 {
		end = len(value)
	}
	p.value = value[:end]
	return p, value[end:]
}

// unquote reads a quoted value.
func unquote(text string) (value, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		return "", "", false
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '"':
			return b.String(), text[i+1:], true
		case text[i] == '\\' && i+1 < len(text):
			i++
			fallthrough
		default:
			b.WriteByte(text[i])
		}
	}
	return "", "", false
}
