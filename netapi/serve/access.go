package serve

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/netapi"
)

// stamp is the time of a line, as Apache writes it.
const stamp = "02/Jan/2006:15:04:05 -0700"

// line returns the line of a request in Apache's combined format. Tokens in it are masked.
func line(r *http.Request, began time.Time, status int, bytes int64) string {
	size := "-"
	if bytes > 0 {
		size = strconv.FormatInt(bytes, 10)
	}
	return fmt.Sprintf(`%s - - [%s] "%s %s %s" %d %s "%s" "%s"`, client(r.RemoteAddr), began.Format(stamp),
		clean(r.Method), clean(masked(r.RequestURI)), r.Proto, status, size, orDash(masked(r.Referer())),
		orDash(r.UserAgent()))
}

// client returns the address of a connection without its port.
func client(remote string) string {
	if a := netapi.AddressOf(remote); a.IsValid() {
		return a.String()
	}
	return "-"
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return clean(s)
}

// maxField is the longest text of a line in bytes.
const maxField = 2048

// clean makes a text safe within a line: quotes, backslashes, control characters and bytes above
// ASCII become escapes, as in Apache's logs, and long ones are cut.
func clean(s string) string {
	s = strings.TrimRight(s, "\n")
	cut := len(s) > maxField
	if cut {
		s = s[:maxField]
	}
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	if cut {
		b.WriteString("...")
	}
	return b.String()
}

// masked returns a URL without the tokens that may stand in it: in the query as token and
// salt_token, and in the path after ws, all_events and formatted_events.
func masked(address string) string {
	path, rest, hasQuery := strings.Cut(address, "?")
	path = maskedPath(path)
	if !hasQuery {
		return path
	}
	query, fragment, hasFragment := strings.Cut(rest, "#")
	query = maskedQuery(query)
	if hasFragment {
		query += "#" + maskedQuery(fragment)
	}
	return path + "?" + query
}

func maskedPath(path string) string {
	plain, err := url.PathUnescape(path)
	if err != nil {
		plain = path
	}
	parts := strings.Split(plain, "/")
	for i, part := range parts {
		switch strings.ToLower(part) {
		case "ws", "all_events", "formatted_events":
			if hideAll(parts[i+1:]) {
				return strings.Join(parts, "/")
			}
			return path
		}
	}
	return path
}

// hideAll masks the texts that are not empty. It reports whether there were any.
func hideAll(parts []string) bool {
	any := false
	for i, part := range parts {
		if part != "" {
			parts[i], any = config.Hidden, true
		}
	}
	return any
}

// maskedQuery masks the values of a query whose names are those of tokens.
func maskedQuery(query string) string {
	var b strings.Builder
	for query != "" {
		end := strings.IndexAny(query, "&;")
		if end < 0 {
			end = len(query)
		}
		pair := query[:end]
		name, _, ok := strings.Cut(pair, "=")
		if ok && isToken(name) {
			pair = name + "=" + config.Hidden
		}
		b.WriteString(pair)
		if end < len(query) {
			b.WriteByte(query[end])
			end++
		}
		query = query[end:]
	}
	return b.String()
}

func isToken(name string) bool {
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	return config.IsSecret(name)
}
