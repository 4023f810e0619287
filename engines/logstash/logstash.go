// Package logstash is Salt's engine logstash: it sends the events of the bus to Logstash, as JSON
// over TCP or UDP (salt/engines/logstash_engine.py).
//
//	engines:
//	  - logstash: {host: log.example.com, port: 5959, proto: tcp}
//
// The form is version 1 of the Python package python-logstash that Salt uses: @timestamp, @version,
// message, host, path, tags, type, level and logger_name, and the fields of the event. Differences:
// the field id of an event is kept, fields named like one of these do not replace it, and events
// that Python's logging would refuse are sent.
package logstash

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/internal/pyjson"
)

type logstash struct {
	tag, hostname string
	stream        bool // each event is a line
	now           func() time.Time
}

// New makes the engine. The option host is that of Logstash, port its port (5959), tag the message
// of each event (salt/engine/logstash), and proto is udp or tcp.
func New(h engines.Host, options *data.Map) (func(context.Context) error, error) {
	if err := engines.Only(options, "host", "port", "tag", "proto"); err != nil {
		return nil, err
	}
	host, err := engines.Text(options, "host", "")
	port, portErr := engines.Port(options, "port", 5959)
	tag, tagErr := engines.Text(options, "tag", "salt/engine/logstash")
	proto, protoErr := engines.Text(options, "proto", "udp")
	if err := errors.Join(err, portErr, tagErr, protoErr); err != nil {
		return nil, err
	}
	if proto != "udp" && proto != "tcp" {
		return nil, fmt.Errorf("proto must be udp or tcp, not %s", data.Repr(proto))
	}
	l := &logstash{tag: tag, stream: proto == "tcp", now: time.Now}
	l.hostname, _ = os.Hostname() //nolint:errcheck // an empty name
	return engines.NewForwarder(h, proto, net.JoinHostPort(host, strconv.Itoa(port)), l.encode).Run, nil
}

func (l *logstash) encode(body *data.Map) ([]byte, error) {
	record := data.NewMap(
		"@timestamp", l.now().UTC().Format("2006-01-02T15:04:05.000Z"), "@version", "1", "message", l.tag,
		"host", l.hostname, "path", "logstash_engine.py", "tags", []any{}, "type", "Logstash", "level", "INFO",
		"logger_name", "python-logstash-logger")
	hidden := []string{"auth_token", "password"}
	for key, v := range body.All() {
		if name := data.Str(key); !record.Has(name) && !slices.Contains(hidden, name) {
			record.Set(name, v)
		}
	}
	text, err := pyjson.Append(nil, record, pyjson.Options{Comma: ", ", Colon: ": ", ASCII: true,
		Other: func(v any) (any, error) { return data.Repr(v), nil }})
	if err == nil && l.stream {
		text = append(text, '\n')
	}
	return text, err
}
