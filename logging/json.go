package logging

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/sirupsen/logrus"
)

// appendJSON appends an entry as one JSON object: time (RFC 3339 with milliseconds), level, name,
// process and message, the jid and the error if present, and the other fields by name. A field with
// one of those names is renamed to fields.name.
func appendJSON(b []byte, r *record) []byte {
	b = append(b, `{"time":"`...)
	b = r.time.AppendFormat(b, "2006-01-02T15:04:05.000Z07:00")
	b = append(b, '"')
	b = appendMember(b, "level", strings.ToLower(r.level.String()))
	b = appendMember(b, "name", r.name)
	b = append(b, `,"process":`...)
	b = strconv.AppendInt(b, int64(r.log.options.PID), 10)
	b = appendMember(b, "message", r.log.secrets.hide(r.entry.Message))
	if r.jid != "" {
		b = appendMember(b, "jid", r.jid)
	}
	if err, ok := r.entry.Data[logrus.ErrorKey]; ok {
		b = appendMember(b, "error", r.log.secrets.hide(fmt.Sprint(err)))
	}
	for _, name := range fieldNames(r.entry) {
		b = r.appendField(b, name, r.entry.Data[name])
	}
	return append(b, '}')
}

func appendMember(b []byte, name, value string) []byte {
	b = append(b, ',')
	b = appendString(b, name)
	b = append(b, ':')
	return appendString(b, value)
}

// appendField encodes numbers and booleans as such, and everything else as text like in a message.
func (r *record) appendField(b []byte, name string, v any) []byte {
	switch name {
	case "time", "level", "process", "message":
		name = "fields." + name
	}
	name = r.log.secrets.hide(name)
	switch f := v.(type) {
	case float64:
		if math.IsNaN(f) || math.IsInf(f, 0) {
			break
		}
		return appendNumber(b, name, f)
	case nil, bool, int, int64, uint64:
		return appendNumber(b, name, v)
	}
	return appendMember(b, name, r.log.secrets.hide(fmt.Sprint(v)))
}

func appendNumber(b []byte, name string, v any) []byte {
	text, _ := json.Marshal(v) // cannot fail for these types
	b = append(b, ',')
	b = appendString(b, name)
	b = append(b, ':')
	return append(b, text...)
}

// appendString appends s in quotes. It also escapes characters that affect terminals.
func appendString(b []byte, s string) []byte {
	text, _ := json.Marshal(s) // cannot fail for a string
	if isPlain(s) {
		return append(b, text...)
	}
	for _, c := range string(text) {
		if c >= 0x7f && (unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c)) {
			b = fmt.Appendf(b, `\u%04x`, c)
			continue
		}
		b = append(b, string(c)...)
	}
	return b
}
